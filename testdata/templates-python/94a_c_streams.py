# What C's streams hold is written after what Python's hold, and before what its end writes.
import atexit, ctypes, sys
libc = ctypes.CDLL(None)
libc.puts(b"by the C library")
print("no newline", end="")
atexit.register(print, "at the end")
sys.exit(3)
