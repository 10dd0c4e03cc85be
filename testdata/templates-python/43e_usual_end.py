# The end of an interpreter: finalizers see the modules that the program has imported.
import atexit, collections, random, sys

class Last:
    def __init__(self, name, *more):
        self.name, self.more = name, more

    def __del__(self):
        print("end of", self.name, len(self.more), collections is not None, random is not None, sys.is_finalizing())

here = Last("global", collections.deque([1]))
cycle = Last("cycle")
cycle.own = cycle
del cycle
atexit.register(lambda: print("atexit", random.Random(1).random()))
