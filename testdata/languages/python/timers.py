import os
import select
import signal
import threading
import time

rings = []
signal.signal(signal.SIGALRM, lambda *_: rings.append(1))
signal.alarm(1)
signal.pause()
signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
while len(rings) < 3:
    signal.pause()
assert signal.getitimer(signal.ITIMER_REAL)[1] == 0.01
signal.setitimer(signal.ITIMER_REAL, 0)
signal.signal(signal.SIGVTALRM, lambda *_: rings.clear())
signal.setitimer(signal.ITIMER_VIRTUAL, 0.01)
while rings:
    pass
done = threading.Event()
threading.Timer(0.01, done.set).start()
assert done.wait(5)
timer = os.timerfd_create(time.CLOCK_MONOTONIC)
os.timerfd_settime(timer, initial=0.01)
assert select.select([timer], [], [], 5)[0] and os.timerfd_gettime(timer)[0] >= 0
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
os.kill(os.getpid(), signal.SIGUSR1)
assert signal.SIGUSR1 in signal.sigpending() and signal.sigwait([signal.SIGUSR1]) == signal.SIGUSR1
assert signal.sigtimedwait([signal.SIGUSR1], 0.001) is None
print('timers ok')
