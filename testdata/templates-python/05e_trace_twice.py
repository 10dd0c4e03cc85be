# Exceptions of threads and of objects print tracebacks before that of the program.
import _thread
import sys


class Loud:
    def __del__(self):
        raise RuntimeError('in del')


def report(*args):
    print('hook', 'traceback' in sys.modules)
    sys.__excepthook__(*args)


Loud()
print('traceback' in sys.modules)
sys.excepthook = report
raise OSError(2, 'No such file', 'x')
