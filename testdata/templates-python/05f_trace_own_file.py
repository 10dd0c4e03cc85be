# Modules that print a traceback may be the program's own files.
with open('linecache.py', 'w') as f:
    f.write('print("own linecache")\nraise ImportError\n')


def fail():
    raise ValueError('boom')


fail()
