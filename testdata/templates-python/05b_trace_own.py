# A traceback is printed by the module that the program has changed.
import linecache

linecache.getline = lambda *a: 'a line of the program\n'
linecache.getlines = lambda *a: ['a line of the program\n'] * 50


def fail():
    raise ValueError('boom')


fail()
