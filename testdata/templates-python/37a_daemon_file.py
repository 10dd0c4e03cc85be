# The objects of a thread that is left do not end.
import threading,time
f=open("o","w"); f.write("x")
def r():
  g=open("p","w"); g.write("y"); time.sleep(9)
threading.Thread(target=r,daemon=True).start()
time.sleep(.2)
