# A generator that only a module refers to.
import re
def g():
  try: yield 1
  finally: print("fin")
x=g(); next(x)
re.x=x
