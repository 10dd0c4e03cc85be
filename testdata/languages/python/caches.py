import glob
import sysconfig

# The root is read-only: a module whose cache is not valid whatever the time of its source is compiled in each run.
UNCHECKED = b'\1\0\0\0'  # PEP 552
caches = glob.glob(sysconfig.get_path('stdlib') + '/**/*.pyc', recursive=True)
assert len(caches) > 500, len(caches)
for name in caches:
    with open(name, 'rb') as f:
        assert f.read(8)[4:] == UNCHECKED, name
print('caches ok')
