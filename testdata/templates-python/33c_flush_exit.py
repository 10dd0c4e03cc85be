# The status of an exit is replaced by 120.
import sys
class S:
  def write(s,x): pass
sys.stdout=S()
print(1)
sys.exit(5)
