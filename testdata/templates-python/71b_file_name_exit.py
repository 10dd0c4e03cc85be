# But not after sys.exit.
import atexit,sys
@atexit.register
def bye(): print(__file__)
sys.exit(3)
