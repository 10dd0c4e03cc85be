# A program that logs imports sees those of a traceback.
import sys
class L:
  def find_spec(s,n,*a): print("L",n)
sys.meta_path.insert(0,L())
1/0
