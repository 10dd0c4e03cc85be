package network

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/agent/client"
	"github.com/brig-sandbox/brig/agent/egress"
	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// A networkRun executes runs with network, and relays for them as brig run does.
type networkRun struct {
	agent  *harness.Agent
	hosts  map[string]string // names that exist outside, with their addresses
	limits egress.Limits
}

// run executes r. The addresses in r.Allow may be of this host.
func (n networkRun) run(t testing.TB, r api.Run) api.Result {
	t.Helper()
	rules, err := api.AllowRules(r.Allow)
	if err != nil {
		t.Fatal(err)
	}

	for _, a := range n.hosts { // what a name leads to is on this host, too
		for _, rule := range rules {
			if rule.Host != "" {
				one, err := api.ParseAllow(fmt.Sprintf("%s:%d", a, rule.Ports[0]))
				if err != nil {
					t.Fatal(err)
				}
				rules = append(rules, one)
			}
		}
	}

	internal := slices.DeleteFunc(slices.Clone(rules), func(r api.AllowRule) bool { return !r.Prefix.IsValid() })
	var relay *egress.Relay
	var out, errs bytes.Buffer
	res, err := n.agent.RunEvents(t.Context(), r, nil, client.Events{
		Stdout: &out, Stderr: &errs,
		Network: func(sockets []*os.File) {
			relay, err = egress.Start(egress.Policy{
				Public: r.Network == api.NetworkPublic, Rules: rules[:len(r.Allow)], Internal: internal, Limits: n.limits,
				Lookup: func(_ context.Context, name string) ([]netip.Addr, error) {
					if a, ok := n.hosts[name]; ok {
						return []netip.Addr{netip.MustParseAddr(a)}, nil
					}
					return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
				},
			}, sockets)
			if err != nil {
				t.Error(err)
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if relay != nil {
		used := relay.Close()
		res.Network = &used
	}

	res.Stdout, res.Stderr = out.Bytes(), errs.Bytes()
	return res
}

// webServer is an HTTP server on this host's loopback that answers with the path.
func webServer(t testing.TB) (address string) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "answer to %s of %s\n", r.URL.Path, r.Host)
	}))
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

// Programs reach the hosts that are listed, by address and by name, without any setting, and
// nothing else. The control is the same program without a network.
func TestNetworkReachesWhatIsListed(t *testing.T) {
	a := harness.StartAgent(t)
	a.NeedPython(t)
	server := webServer(t)
	_, port, _ := net.SplitHostPort(server)
	fetch := harness.Py(`
import sys, urllib.request
for url in sys.argv[1:]:
    try: print(urllib.request.urlopen(url, timeout=5).read().decode().strip())
    except OSError as e: print(url, type(getattr(e, "reason", e)).__name__, getattr(e, "reason", e))
`)

	fetch.Argv = []string{"http://" + server + "/1", "http://api.test:" + port + "/2", "http://evil.test:" + port + "/",
		"http://169.254.169.254/", "http://127.0.0.1:1/", "http://absent.test:" + port + "/"}
	n := networkRun{agent: a, hosts: map[string]string{"api.test": "127.0.0.1", "evil.test": "127.0.0.1"}}
	with := fetch
	with.Network, with.Allow = api.NetworkAllow, []string{server, "api.test:" + port, "absent.test:" + port}
	res := n.run(t, with)
	harness.WantVerdict(t, res, api.OK)
	lines := strings.Split(strings.TrimSpace(string(res.Stdout)), "\n")
	want := []string{
		"answer to /1 of " + server, "answer to /2 of api.test:" + port, "not known", "refused", "refused", "not known",
	}
	if len(lines) != len(want) {
		t.Fatalf("printed %q, %q", lines, res.Stderr)
	}

	for i, w := range want {
		if !strings.Contains(lines[i], w) {
			t.Errorf("%s: %q; want %q", with.Argv[i], lines[i], w)
		}
	}

	u := res.Network
	if u == nil || len(u.Hosts) != 2 || u.Hosts[1].Name != "api.test" || u.BytesIn == 0 || len(u.Refused) != 1 ||
		u.Refused[0].Name != "evil.test" {
		t.Errorf("the result tells %+v", u)
	}
	if res.Host.Profile != "network" {
		t.Errorf("under profile %s", res.Host.Profile)
	}

	control := a.MustRun(t, fetch)
	if strings.Contains(string(control.Stdout), "answer") || control.Network != nil {
		t.Errorf("without network: %q, %+v", control.Stdout, control.Network)
	}
}

// NET-01. Whatever is listed by name or as public, addresses of this host and of private networks are
// refused, in every way to write them.
func TestHostileAddressesAreRefused(t *testing.T) {
	a := harness.StartAgent(t)
	a.NeedPython(t)
	server := webServer(t)
	_, port, _ := net.SplitHostPort(server)
	r := harness.Py(`
import socket, struct
port = ` + port + `
for host in ["127.0.0.1", "127.1", "0x7f000001", "2130706433", "0177.0.0.1", "localhost", "0.0.0.0", "10.0.0.1", "192.168.0.1", "169.254.169.254", "198.18.0.1", "240.0.0.1", "255.255.255.255"]:
    for p in (80, 443, port):
        s = socket.socket()
        s.settimeout(5)
        try:
            s.connect((host, p))
            s.sendall(b"GET / HTTP/1.0\r\n\r\n")
            if s.recv(100): print("reached", host, p)
        except OSError: pass
        s.close()
print("done")
`)

	r.Network, r.Allow = api.NetworkPublic, []string{"example.test:" + port}
	res := networkRun{agent: a}.run(t, r)
	if harness.WantVerdict(t, res, api.OK); string(res.Stdout) != "done\n" {
		t.Errorf("%s%s", res.Stdout, res.Stderr)
	}
	if len(res.Network.Refused) == 0 {
		t.Error("the refused connection is not in the result")
	}

	// The control: the same address is reached where it is listed.
	r = harness.Py(`import urllib.request; print(urllib.request.urlopen("http://` + server + `/").status)`)
	r.Network, r.Allow = api.NetworkAllow, []string{server}
	if res := (networkRun{agent: a}).run(t, r); string(res.Stdout) != "200\n" {
		t.Errorf("the control: %s%s", res.Stdout, res.Stderr)
	}
}

// With network loopback a program reaches its own processes, and a run without network does not.
func TestNetworkLoopback(t *testing.T) {
	a := harness.StartAgent(t)
	a.NeedPython(t)
	r := harness.Py(`
import socket, threading
s = socket.create_server(("127.0.0.1", 0))
def serve():
    c, _ = s.accept()
    c.sendall(b"hello"); c.close()
threading.Thread(target=serve).start()
print(socket.create_connection(s.getsockname()).recv(10).decode())
try: socket.create_connection(("1.1.1.1", 80), 2)
except OSError as e: print(e.strerror)
`)

	r.Network = api.NetworkLoopback
	if res := a.MustRun(t, r); string(res.Stdout) != "hello\nNetwork is unreachable\n" {
		t.Errorf("%s: %s%s", res.Verdict, res.Stdout, res.Stderr)
	}

	r.Network = ""
	if res := a.MustRun(t, r); res.Verdict != api.Nonzero {
		t.Errorf("without network: %s: %s", res.Verdict, res.Stdout)
	}
}

// NET-10, NET-12, NET-13. Each run has a network namespace of its own, which ends with the run: the
// next run of the cell finds no socket, no descriptor of ours, and the host keeps no namespace.
func TestHostileNetworkLeavesNothing(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1")
	a.NeedPython(t)
	server := webServer(t)
	r := harness.Py(`
import os, socket, sys
print(sorted(int(n) for n in os.listdir("/proc/self/fd"))[:-1])
for port in (5000, 8000):
    s = socket.create_server(("0.0.0.0", port))
    os.set_inheritable(s.fileno(), True)
    c = socket.create_connection(("127.0.0.1", port))
    if os.fork() == 0:
        while True: s.accept()
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); u.bind(("0.0.0.0", 5353))
try: socket.create_server(("0.0.0.0", ` + strings.Split(server, ":")[1] + `)); print("took the port of a listed host")
except OSError as e: print(e.strerror.split(" (")[0])
sys.stdout.flush(); os._exit(0)
`)

	r.Network, r.Allow = api.NetworkAllow, []string{server}
	n := networkRun{agent: a}
	n.run(t, r)
	before := namespaces(t)
	for i := range 10 {
		if res := n.run(t, r); string(res.Stdout) != "[0, 1, 2]\nAddress already in use\n" {
			t.Fatalf("run %d: %s: %s%s", i, res.Verdict, res.Stdout, res.Stderr)
		}
	}

	for deadline := harness.Patience(); namespaces(t) > before+2; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d network namespaces before, %d after", before, namespaces(t))
		}
	}
}

// namespaces is how many network namespaces the kernel has, for all programs of the machine.
func namespaces(t *testing.T) (n int) {
	t.Helper()
	harness.Alone(t)
	text, err := os.ReadFile("/proc/slabinfo")
	if err != nil {
		t.Fatal(err)
	}

	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "net_namespace ") {
			if _, err := fmt.Sscan(strings.Fields(line)[1], &n); err != nil {
				t.Fatal(err)
			}
			return n
		}
	}

	t.Fatal("/proc/slabinfo has no net_namespace")
	return 0
}

// NET-05, NET-08. Storms of connections and of names stay within the limits, and the end of the relay
// ends what the program does with it.
func TestHostileNetworkStorms(t *testing.T) {
	a := harness.StartAgent(t, "--max-wall", "2m", "--max-cpu", "2m")
	a.NeedPython(t)
	server := webServer(t)
	r := harness.Py(fmt.Sprintf(`
import socket
host, port = "`+strings.Replace(server, ":", `", `, 1)+`
connections, datagrams = %d, %d
kept, refused = [], 0
for i in range(connections):
    s = socket.socket()
    s.settimeout(2)
    try:
        s.connect((host, port))
        kept.append(s)
        if len(kept) > 100: kept.pop(0).close()
    except OSError: refused += 1
names = 0
for i in range(datagrams):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.sendto(b"\x00\x01\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x05n%%04d\x04test\x00\x00\x01\x00\x01" %% i, ("8.8.8.8", 53))
    s.close()
print("done")
`, harness.Soak(4000), harness.Soak(6000)))

	r.Network, r.Allow = api.NetworkAllow, []string{server, "*.test"}
	r.Limits = api.Limits{Wall: harness.Seconds(100), CPU: harness.Seconds(50)} // 5 s on an idle machine
	res := networkRun{agent: a, limits: egress.Limits{Connections: 500, Simultaneous: 20}}.run(t, r)
	if harness.WantVerdict(t, res, api.OK); string(res.Stdout) != "done\n" {
		t.Errorf("%s%s", res.Stdout, res.Stderr)
	}
	if u := res.Network; u.Connections > 500 || len(u.Refused) == 0 || len(u.Refused) > 64 {
		t.Errorf("%+v", u)
	}
}

// What cannot work is refused before anything runs.
func TestNetworkIsRefusedByName(t *testing.T) {
	a := harness.StartAgent(t)
	a.NeedPython(t)

	for _, tt := range []struct {
		what string
		run  func(*api.Run)
		code api.Code
		says string
	}{
		{"without a relay", func(r *api.Run) { r.Network, r.Allow = "allow", []string{"a.test"} }, api.CodeBadRequest, "streamed form"},
		{"with a profile that allows no sockets", func(r *api.Run) { r.Network, r.Profile = "loopback", "strict" }, api.CodeBadRequest,
			"strict allows no sockets"},
		{"with tests", func(r *api.Run) { r.Network, r.Tests = "loopback", []api.Test{{ID: "1"}} }, api.CodeUnsupported, "tests"},
	} {
		r := harness.Py("print(1)")
		tt.run(&r)
		if e := a.Refused(t, r, tt.code); !strings.Contains(e.Message, tt.says) {
			t.Errorf("%s: %s", tt.what, e.Message)
		}
	}
}
