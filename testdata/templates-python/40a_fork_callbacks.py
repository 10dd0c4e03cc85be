# And one of fork.
import os
f=open("o","w"); f.write("x")
os.register_at_fork(after_in_child=lambda: None)
