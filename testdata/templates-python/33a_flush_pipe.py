# Python ends with 120 if stdout cannot be written.
import os; r,w=os.pipe(); os.dup2(w,1); os.close(r); os.close(w); print("b")
