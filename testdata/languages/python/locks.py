import dbm.sqlite3
import multiprocessing
import os
import sqlite3


def add(n):
    for _ in range(n):
        with sqlite3.connect('sum.db', timeout=30) as base:
            base.execute('update t set n = n + 1')
        base.close()


if __name__ == '__main__':
    base = sqlite3.connect('sum.db')
    base.execute('create table t (n)')
    base.execute('insert into t values (0)')
    base.commit()
    team = [multiprocessing.Process(target=add, args=(20,)) for _ in range(2)]
    for child in team:
        child.start()
    for child in team:
        child.join()
    assert base.execute('select n from t').fetchone() == (40,)
    base.execute('pragma journal_mode = wal')
    base.execute('update t set n = 41')
    base.commit()
    base.close()
    with dbm.sqlite3.open('names', 'c') as names:
        names['a'] = 'b'
    f = os.open('lock', os.O_CREAT | os.O_RDWR)
    os.lockf(f, os.F_TLOCK, 0)
    os.lockf(f, os.F_TEST, 0)
    os.lockf(f, os.F_ULOCK, 0)
    print('locks ok')
