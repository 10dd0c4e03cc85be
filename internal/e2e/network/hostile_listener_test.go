package network

import (
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// MEM-43. The kernel charges a connection to no group until it is accepted, with all that was sent to
// it. So a run has few queues, and they are short and small. The control is the accepted connection,
// on which the server reads what was sent.
func TestHostileListenerQueues(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1")
	a.NeedPython(t)
	r := harness.Py(`
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
	if res := a.MustRun(t, r); res.Verdict != api.OK ||
		string(res.Stdout) != "32 No buffer space available\n17\nTrue\nOperation not permitted\n10\n" {
		t.Errorf("%s: %s%s", res.Verdict, res.Stdout, res.Stderr)
	}
}

// MEM-45. Answers of netlink that a program does not read are charged to no group. So a run makes few
// sockets of netlink. The control is a library that looks at the interface.
func TestHostileNetlinkQueues(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1")
	a.NeedPython(t)
	r := harness.Py(`
import socket, struct
print(socket.if_nameindex())
held = []
try:
    while len(held) < 100: held.append(socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0))
except OSError as e: print(len(held), e.strerror)
ask = struct.pack("IHHII", 8000, 999, 5, 0, 0) + bytes(7984)
answers = 0
try:
    for s in held: s.setblocking(False)
    for _ in range(1000): held[0].send(ask); answers += 1
except OSError: pass
try: held[0].setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20); print("a large buffer")
except OSError as e: print(e.strerror)
for kind, protocol in ((socket.SOCK_RAW, 9), (socket.SOCK_RAW, 12), (socket.SOCK_RAW, 15), (socket.SOCK_RAW, 16)):
    try: socket.socket(socket.AF_NETLINK, kind, protocol); print("netlink protocol", protocol)
    except OSError as e: print(e.strerror)
`)

	r.Network = api.NetworkLoopback
	want := "[(1, 'lo')]\n31 No buffer space available\nOperation not permitted\n" + strings.Repeat("Operation not permitted\n", 4)
	if res := a.MustRun(t, r); res.Verdict != api.OK || string(res.Stdout) != want {
		t.Errorf("%s: %s%s", res.Verdict, res.Stdout, res.Stderr)
	}
}
