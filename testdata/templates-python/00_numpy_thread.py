# Threads are waited for, and functions of atexit find all modules, also those of a template with numpy.
import atexit
import sys
import threading
import time

import numpy


def late():
    time.sleep(0.2)
    print('late', int(numpy.arange(4).sum()), 'threading' in sys.modules)


def last():
    import os
    print('last', os is sys.modules['os'], os is sys.modules['numpy'].__dict__.get('os', os))


atexit.register(last)
threading.Thread(target=late).start()
print('main ends')
