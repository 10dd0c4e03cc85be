# A module that the program has put in place of what a traceback imports.
import sys
import types

own = types.ModuleType('textwrap')
own.dedent = lambda text: text
sys.modules['textwrap'] = own
try:
    raise ExceptionGroup('several', [ValueError(1), KeyError('a')])
except* ValueError:
    raise
