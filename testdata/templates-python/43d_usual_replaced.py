# A program that removes and replaces modules that the template has.
import sys
import re, random, collections

old = re
del sys.modules["re"]
import re
print(re is old, re.compile("a").match("a"), old.compile("a").match("a"))
sys.modules["heapq"] = None
try:
    import heapq
except ImportError as e:
    print(e)
import importlib
again = importlib.reload(random)
print(again is random, 0 <= random.random() < 1)
collections.Counter = None
from collections import Counter
print(Counter)
