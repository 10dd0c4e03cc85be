# python3 does not wait for a thread that a function of atexit starts.
import atexit


def bye():
    import threading
    import time
    threading.Thread(target=lambda: (time.sleep(1), print("never"))).start()


atexit.register(bye)

