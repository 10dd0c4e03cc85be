# And entries of other lists in sys.
import sys
f=open("o","w"); f.write("x")
sys.path_hooks.append(lambda p: f)
sys.argv.append(f)
