# So does a callback of gc.
import gc
f=open("o","w"); f.write("x")
gc.callbacks.append(lambda p,i: None)
