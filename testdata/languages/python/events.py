import os
import select
import selectors
import signal
import socket

a, b = socket.socketpair()
a.setblocking(False)
for kind in (selectors.SelectSelector, selectors.PollSelector, selectors.EpollSelector):
    with kind() as loop:
        loop.register(b, selectors.EVENT_READ)
        assert loop.select(0) == []
        a.send(b'x')
        assert len(loop.select(5)) == 1 and b.recv(1) == b'x'
n = os.eventfd(0)
os.eventfd_write(n, 3)
assert os.eventfd_read(n) == 3
signal.signal(signal.SIGUSR1, lambda *_: None)
signal.set_wakeup_fd(a.fileno(), warn_on_full_buffer=False)
os.kill(os.getpid(), signal.SIGUSR1)
assert select.select([b], [], [], 5)[0] and b.recv_into(bytearray(4)) == 1
signal.set_wakeup_fd(-1)
a.shutdown(socket.SHUT_WR)
assert b.recv(1, socket.MSG_PEEK) == b'' and b.getpeername() == ''
print('events ok')
