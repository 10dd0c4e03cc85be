# The same with a function, a class and an instance of modules.
import enum, json, random, re
f = open("out.txt", "w")
f.write("x")
enum.Enum.zz = f
re.sub.__defaults__ = (0, f)
random._inst.f = f
json.JSONEncoder.default = lambda s, o: f

