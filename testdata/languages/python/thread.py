import threading

thread = threading.Thread(target=print, args=("from a thread",))
thread.start()
thread.join()
