# A stderr of the program cannot be written.
import sys,json
class S:
  def write(s,x): pass
  def flush(s): raise OSError(28,"No space")
sys.stderr=S()
raise ValueError
