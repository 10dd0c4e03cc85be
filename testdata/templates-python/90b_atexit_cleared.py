# atexit has no function of another one, and its end changes nothing.
import atexit
print(atexit._ncallbacks())
class E:
  def __eq__(s,o): print("eq"); return False
atexit.unregister(E())
atexit._clear()
import json
class D:
  def __del__(s): print(json.dumps([1]))
d=D()
