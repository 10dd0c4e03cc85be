# SIGINT comes before 120.
import os,sys
print("b")
os.close(1)
raise KeyboardInterrupt
