# The descriptor of stdout is closed before the last flush.
import os
print("b")
os.close(1)
