# What functions of atexit see of the modules, also if the program calls them.
import atexit
import io
import os
import sys


def last():
    import codecs
    print(codecs.lookup('utf-8').name, 'os' in sys.modules, sys.modules['os'] is os, sys.modules['io'] is io, len(sys.modules))


atexit.register(last)
atexit._run_exitfuncs()
print(len(sys.modules), sys.modules['os'] is os)
atexit.register(last)
