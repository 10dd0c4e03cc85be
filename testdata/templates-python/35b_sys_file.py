# A file that only sys refers to.
import sys; sys.foo=open("o","w"); sys.foo.write("x")
