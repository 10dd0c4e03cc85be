import asyncio
import concurrent.futures
import multiprocessing
import os
import signal
import socket
import subprocess
import threading


def double(n):
    return 2 * n


def put(queue, n):
    queue.put(n)


async def through(text):
    cat = await asyncio.create_subprocess_exec('cat', stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    return (await cat.communicate(text))[0]


if __name__ == '__main__':
    assert os.system('exit 3') == 3 << 8
    assert subprocess.run(['cat'], input=b'through', capture_output=True, check=True).stdout == b'through'
    assert asyncio.run(through(b'loop')) == b'loop'
    with multiprocessing.Pool(2) as pool:
        assert pool.map(double, range(4)) == [0, 2, 4, 6]
    with concurrent.futures.ProcessPoolExecutor(2) as pool:
        assert sum(pool.map(double, range(4))) == 12
    queue = multiprocessing.Queue()
    child = multiprocessing.Process(target=put, args=(queue, 7))
    child.start()
    assert queue.get() == 7
    child.join()
    value = multiprocessing.Value('i', 0)
    with value.get_lock():
        value.value += 1
    shared = multiprocessing.Array('d', 4)
    mine, its = multiprocessing.Pipe()
    mine.send({'a': 1})
    assert its.recv() == {'a': 1} and list(shared) == [0.0] * 4

    pid = os.fork()
    if pid == 0:
        os._exit(5)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 5
    sleeper = subprocess.Popen(['sleep', '9'], start_new_session=True)
    os.killpg(sleeper.pid, signal.SIGTERM)
    assert sleeper.wait() == -signal.SIGTERM
    a, b = socket.socketpair()
    b.settimeout(5)
    a.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 65536)
    threading.Thread(target=a.sendall, args=(b'x' * 100,)).start()
    assert b.recv(100) and a.getsockopt(socket.SOL_SOCKET, socket.SO_TYPE) == socket.SOCK_STREAM
    again = socket.socket(fileno=os.dup(a.fileno()))
    assert again.family == socket.AF_UNIX and again.getsockname() == ''
    print('processes ok')
