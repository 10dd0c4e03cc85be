# And an entry of sys.meta_path.
import sys
f=open("o","w"); f.write("x")
class F:
  def find_spec(self,*a): return None
sys.meta_path.append(F())
