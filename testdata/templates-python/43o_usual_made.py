# An object that ends makes another one.
import json
class A:
  def __del__(s): json.f=open("o","w"); json.f.write("x")
json.a=A()
