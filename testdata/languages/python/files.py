import fcntl
import glob
import mmap
import os
import pathlib
import shutil
import tempfile

with open('a.txt', 'w') as f:
    f.write('hello')
with open('a.txt', 'a+') as f:
    f.write(', world')
    f.flush()
    os.fsync(f.fileno())
    os.fdatasync(f.fileno())
    f.truncate(5)
os.rename('a.txt', 'b.txt')
os.makedirs('d/e')
shutil.copy2('b.txt', 'd/copy')
os.symlink('../b.txt', 'd/soft')
os.link('b.txt', 'd/hard')
os.replace('d/copy', 'd/b.txt')
os.chmod('b.txt', 0o640)
os.utime('b.txt', (1, 2))
os.mkfifo('d/queue')
assert os.stat('b.txt').st_mtime == 2 and os.lstat('d/soft').st_size == 8 and os.readlink('d/soft') == '../b.txt'
assert sorted(os.listdir('d')) == ['b.txt', 'e', 'hard', 'queue', 'soft'], os.listdir('d')
assert len(glob.glob('d/**', recursive=True)) == 6 and len(list(os.scandir('d'))) == 5
os.chdir('d')
assert os.getcwd() == '/box/d' and pathlib.Path('soft').read_text() == 'hello'
os.chdir('..')
assert shutil.disk_usage('.').free > 0 and os.statvfs('b.txt').f_bsize > 0 and os.access('b.txt', os.W_OK)
with open('table', 'wb+') as f:
    os.posix_fallocate(f.fileno(), 0, 8192)
    os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_SEQUENTIAL)
    assert os.pwrite(f.fileno(), b'abc', 4096) == 3 and os.pread(f.fileno(), 3, 4096) == b'abc'
    with mmap.mmap(f.fileno(), 0) as m:
        m.madvise(mmap.MADV_WILLNEED)
        m.madvise(mmap.MADV_SEQUENTIAL)
        m.madvise(mmap.MADV_RANDOM)
        m[0:4] = b'seen'
        m.flush()
    assert f.read(4) == b'seen'
    fcntl.flock(f, fcntl.LOCK_EX)
    fcntl.lockf(f, fcntl.LOCK_UN)
shutil.copytree('d', 'copy', symlinks=True, ignore=shutil.ignore_patterns('queue'))
shutil.move('table', 'copy/table')
shutil.rmtree('copy')
shutil.rmtree('d')
os.remove('b.txt')
with tempfile.TemporaryDirectory() as dir, tempfile.NamedTemporaryFile(dir=dir) as f:
    f.write(b'x')
assert os.listdir('.') == [os.path.basename(__file__)], os.listdir('.')
print('files ok')
