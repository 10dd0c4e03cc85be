# Modules that the program has imported are the ones that a traceback uses.
import atexit
import collections
import enum
import re
import sys
import warnings

atexit.register(lambda: print(sys.modules['re'] is re, sys.modules['enum'] is enum, isinstance(re.I, enum.Flag),
                              sys.modules['traceback'].collections is collections))
warnings.warn('first')


class Point(collections.namedtuple('Point', 'x y')):
    pass


def nested(n):
    return nested(n - 1) if n else Point(1, 2) / 0


nested(5)
