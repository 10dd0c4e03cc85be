# An object ends that a class of a module keeps.
import collections
class A:
  def __del__(s): print("bye")
a=A()
collections.Counter.total2=lambda s: 1
