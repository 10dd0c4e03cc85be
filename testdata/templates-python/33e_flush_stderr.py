# stderr cannot be written.
import os,sys
os.close(2)
sys.stderr.write("x")
