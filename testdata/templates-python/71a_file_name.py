# __file__ is gone when functions of atexit are called.
import atexit
@atexit.register
def bye(): print(__file__)
