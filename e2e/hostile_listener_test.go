package e2e

import (
	"testing"

	"github.com/brig-sandbox/brig/api"
)

// MEM-43. The kernel charges a connection to no group until it is accepted, with all that was sent to
// it. So a run has few queues, and they are short and small. The control is the accepted connection,
// on which the server reads what was sent.
func TestHostileListenerQueues(t *testing.T) {
	a := startAgent(t, "--slots", "1")
	a.needPython(t)
	r := py(`
import socket, select
listeners = []
try:
    while len(listeners) < 100:
        listeners.append(socket.create_server(("127.0.0.1", 0), backlog=4096))
except OSError as e: print(len(listeners), e.strerror)
def connected(port, most):
    clients = []
    for _ in range(most):
        c = socket.socket(); c.setblocking(False); c.connect_ex(("127.0.0.1", port)); clients.append(c)
    poll = select.poll()
    for c in clients: poll.register(c, select.POLLOUT)
    return clients, len([f for f, e in poll.poll(200) if e == select.POLLOUT])
s = listeners[0]
clients, n = connected(s.getsockname()[1], 24)
print(n)
sent = 0
try:
    while True: sent += clients[0].send(bytes(65536))
except BlockingIOError: pass
print(sent <= 65536 + 262144 + 65536)
try: listeners[1].setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20); print("a large buffer")
except OSError as e: print(e.strerror)
c, _ = s.accept()
print(len(c.recv(10)))
`)
	r.Network = api.NetworkLoopback
	if res := a.run(t, r); res.Verdict != api.OK || string(res.Stdout) != "32 No buffer space available\n17\nTrue\nOperation not permitted\n10\n" {
		t.Errorf("%s: %s%s", res.Verdict, res.Stdout, res.Stderr)
	}
}
