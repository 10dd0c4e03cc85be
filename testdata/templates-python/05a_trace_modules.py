# What a traceback imports is in sys.modules afterwards, and nothing of it before.
import atexit
import sys

before = sorted(sys.modules), sorted(sys.path_importer_cache)


def report():
    print(before)
    print(sorted(set(sys.modules) - set(before[0])))
    re = __import__('re')
    print(re.sub('b', 'x', 'abc'), re.compile('a'), sys.modules['traceback'].__spec__)


atexit.register(report)
raise ValueError('boom') from KeyError('cause')
