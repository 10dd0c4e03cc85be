package network

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
	"github.com/brig-sandbox/brig/internal/testenv"
	"github.com/brig-sandbox/brig/internal/testservice"
)

// networkFlags are those of an agent whose runs may have a network.
func networkFlags() []string { return append([]string{"--network", "public"}, harness.SharedFlags...) }

// fetching is a program that fetches each URL among its arguments, and prints stdin first.
func fetching(allow ...string) api.Run {
	r := harness.Py(`
import sys, urllib.request
print(sys.stdin.read(), end="")
for url in sys.argv[1:]:
    try: print(urllib.request.urlopen(url, timeout=5).read().decode().strip())
    except OSError as e: print(getattr(e, "reason", e))
`)
	r.Network, r.Allow = api.NetworkAllow, allow
	return r
}

// The service relays the network of runs in each form of request, for keys that may have one, to what
// the operator lists. The control is a server that the operator does not list.
func TestGatewayNetwork(t *testing.T) {
	a := harness.StartAgent(t, networkFlags()...)
	a.NeedPython(t)
	server, closed := webServer(t), webServer(t)
	file, keys := harness.KeysFile(t, a.Dir, "ann", "bob")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}

	text = bytes.Replace(text, []byte("}"), []byte(", network: allow}"), 1) // the first key, ann's
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}

	s := harness.StartService(t, a, "--keys", file, "--network", "allow", "--egress-internal", server)
	ann, bob := s.WithKey(keys["ann"]), s.WithKey(keys["bob"])
	reached := func(what string, res *api.Result, out string) {
		t.Helper()
		if res == nil || string(res.Stdout) != out || res.Network == nil || len(res.Network.Hosts) != 1 || res.Network.Hosts[0].BytesIn == 0 {
			t.Fatalf("%s: %+v; want %q\n%s", what, res, out, s.Log)
		}
	}

	r := fetching(server)
	r.Stdin, r.Argv = api.Bytes("in\n"), []string{"http://" + server + "/x"}
	answer := "answer to /x of " + server + "\n"
	var res api.Result
	ann.Call("POST", "/v1/runs", r, 200, &res)
	reached("a run", &res, "in\n"+answer)
	var st api.Status
	ann.Call("GET", "/v1/runs/"+res.Run, nil, 200, &st)
	reached("its record", st.Result, "in\n"+answer)
	id, out := ann.StartDetached(r), ""
	ann.Listen(id, "", func(e harness.StreamEvent) bool {
		if e.Name == "stdout" {
			out += string(e.Data)
		}
		return true
	})

	if !strings.Contains(out, "answer to /x") {
		t.Errorf("events: %s", out)
	}

	reached("not waited for", ann.WaitDone(id).Result, "in\n"+answer)

	digest := fmt.Sprintf("%x", sha256.Sum256([]byte("blob\n")))
	ann.Call("PUT", "/v1/blobs/"+digest, strings.NewReader("blob\n"), 204, nil)
	blob := r
	blob.Stdin, blob.StdinBlob = nil, digest
	ann.Call("POST", "/v1/runs", blob, 200, &res)
	reached("stdin by blob", &res, "blob\n"+answer)
	reached("the same, not waited for", ann.WaitDone(ann.StartDetached(blob)).Result, "blob\n"+answer)

	r.Allow, r.Argv = append(r.Allow, closed), []string{"http://" + closed + "/"}
	ann.Call("POST", "/v1/runs", r, 200, &res)
	if strings.Contains(string(res.Stdout), "answer") || len(res.Network.Hosts) != 0 || len(res.Network.Refused) != 1 ||
		!strings.Contains(res.Network.Refused[0].Why, "this host") {
		t.Errorf("an address that the operator does not list: %s, %+v", res.Stdout, res.Network)
	}

	ann.Refused("POST", "/v1/runs", api.Run{Image: "tiny", Argv: []string{"true"}, Network: "public"}, 403, api.CodeForbidden)
	bob.Refused("POST", "/v1/runs", r, 403, api.CodeForbidden)

	simple := fmt.Sprintf(`{"code": "import urllib.request\nprint(urllib.request.urlopen('http://%s/y').status)", "network_enabled": true`,
		server)
	var x api.Executed
	ann.Call("POST", "/execute", simple+fmt.Sprintf(`, "allow": [%q]}`, server), 200, &x)
	if x.Stdout != "200\n" || x.Network == nil || x.Network.Connections != 1 {
		t.Errorf("/execute: %+v", x)
	}

	ann.Refused("POST", "/execute", simple+"}", 403, api.CodeForbidden)
	bob.Refused("POST", "/execute", simple+fmt.Sprintf(`, "allow": [%q]}`, server), 403, api.CodeForbidden)
}

// NET-08. A run that ends, is canceled or loses its caller while it has connections leaves nothing in
// the service: no goroutine and no descriptor.
func TestGatewayNetworkLeavesNothing(t *testing.T) {
	a := harness.StartAgent(t, networkFlags()...)
	a.NeedPython(t)
	silent, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()

	at := silent.Addr().String()
	s := harness.StartService(t, a, "--network", "allow", "--egress-internal", at)
	opening := func(last string) api.Run {
		r := harness.Py(`
import os, socket, time
kept = []
for i in range(100):
    s = socket.socket()
    try: s.connect(("127.0.0.1", ` + strings.Split(at, ":")[1] + `)); s.sendall(b"x"); kept.append(s)
    except OSError: pass
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for i in range(100): u.sendto(b"\x00\x01\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x04n%03d\x04test\x00\x00\x01\x00\x01" % i, ("8.8.8.8", 53))
print("open", flush=True)
` + last)

		r.Network, r.Allow = api.NetworkAllow, []string{at}
		return r
	}

	var res api.Result
	s.Call("POST", "/v1/runs", opening("os._exit(0)"), 200, &res)
	if u := res.Network; string(res.Stdout) != "open\n" ||
		u.Connections == 0 || len(u.Refused) == 0 { // it may end before the relay has seen all
		t.Fatalf("%s%s, %+v", res.Stdout, res.Stderr, u)
	}

	open := func() (sockets, routines int) { // Go keeps the pipes of splice for the next connection
		dir := fmt.Sprintf("/proc/%d/fd/", s.Cmd.Process.Pid)
		all, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}

		for _, fd := range all {
			if to, err := os.Readlink(dir + fd.Name()); err == nil && strings.HasPrefix(to, "socket:") {
				sockets++
			}
		}

		_, text, _ := strings.Cut(s.GetText("/metrics"), "\ngo_goroutines ")
		text, _, _ = strings.Cut(text, "\n")
		if routines, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
		return sockets, routines
	}

	sockets, routines := open()
	wantFew := func(what string) {
		t.Helper()
		for deadline := harness.Patience(); ; time.Sleep(20 * time.Millisecond) {
			now, r := open()
			if now <= sockets+8 && r <= routines+8 { // a few connections of clients and to the agent
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s: %d sockets and %d goroutines; want about %d and %d", what, now, r, sockets, routines)
			}
		}
	}

	wantMany := func() {
		t.Helper()
		harness.Eventually(t, "the connections of the run", func() bool { now, r := open(); return now >= sockets+64 && r >= routines+64 })
	}
	for range 3 {
		s.Call("POST", "/v1/runs", opening("os._exit(0)"), 200, &res)
	}

	wantFew("ended")

	id := s.StartDetached(opening("time.sleep(60)"))
	s.Listen(id, "", func(e harness.StreamEvent) bool { return e.Name != "stdout" })
	wantMany()
	s.Call("DELETE", "/v1/runs/"+id, nil, 200, nil)
	if st := s.WaitDone(id); st.Result == nil || st.Result.Verdict != api.Canceled || st.Result.Network == nil ||
		st.Result.Network.Connections < 64 {
		t.Errorf("canceled: %+v", st)
	}

	wantFew("canceled")

	ctx, leave := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() {
		_, err := s.Request(ctx, "POST", "/v1/runs", opening("time.sleep(60)"))
		left <- err
	}()
	wantMany()
	leave()
	if err := <-left; err == nil {
		t.Error("the run ended before its caller left")
	}

	wantFew("left")
}

// NET-09. Two runs at the same time reach neither what the other listens on nor the hosts that only the
// other may reach.
func TestGatewayNetworksAreApart(t *testing.T) {
	wall := harness.Slowly(30) // the first run waits for the second
	a := harness.StartAgent(t, append(networkFlags(), "--max-wall", wall.String())...)
	a.NeedPython(t)
	arrived, done := make(chan struct{}), make(chan struct{})
	holding := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		close(arrived)
		<-done
		_, _ = io.WriteString(w, "go on")
	}))

	defer holding.Close()

	first, second := holding.Listener.Addr().String(), webServer(t)
	s := harness.StartService(t, a, "--network", "allow", "--egress-internal", first, "--egress-internal", second)
	listening := harness.Py(`
import socket, urllib.request
s = socket.create_server(("0.0.0.0", 5000))
print(urllib.request.urlopen("http://` + first + `/").read().decode())
s.settimeout(0)
try: print("reached by", s.accept()[1])
except BlockingIOError: print("reached by nobody")
`)

	listening.Network, listening.Allow, listening.Limits = api.NetworkAllow, []string{first},
		api.Limits{Wall: wall, Memory: 128 * api.MiB} // two at once fit in a small machine
	id := s.StartDetached(listening)
	select {
	case <-arrived:
	case <-time.After(time.Until(harness.Patience())):
		t.Fatalf("the first run never connects\n%s", s.Log)
	}

	port := strings.Split(first, ":")[1]
	trying := harness.Py(`
import socket, urllib.request
for at in (("127.0.0.1", 5000), ("192.0.2.1", 5000), ("127.0.0.1", ` + port + `), ("0.0.0.0", ` + port + `)):
    try: socket.create_connection(at, 3); print("reached", at)
    except OSError as e: print(e.strerror)
print(urllib.request.urlopen("http://` + second + `/").status)
`)

	trying.Network, trying.Allow, trying.Limits = api.NetworkAllow, []string{second}, api.Limits{Memory: 128 * api.MiB}
	var res api.Result
	s.Call("POST", "/v1/runs", trying, 200, &res)
	if want := strings.Repeat("Connection refused\n", 4) + "200\n"; string(res.Stdout) != want {
		t.Errorf("the second run prints %s%s; want %s", res.Stdout, res.Stderr, want)
	}

	close(done)
	if st := s.WaitDone(id); st.Result == nil || string(st.Result.Stdout) != "go on\nreached by nobody\n" {
		t.Errorf("the first run: %+v", st.Result)
	}
}

// A service that offers a network needs an agent that does; one that it starts itself does.
func TestGatewayNetworkNeedsTheAgent(t *testing.T) {
	testenv.NeedRoot(t)
	closed := harness.StartAgent(t, harness.SharedFlags...)
	own, err := testservice.Start(harness.Binary(t, "brig"), time.Until(harness.Patience()), "--socket", closed.Socket, "--data-dir",
		filepath.Join(closed.Dir, "gateway"), "--network", "allow")
	if err == nil {
		_ = own.Stop(harness.Slow(30 * time.Second))
		t.Fatal("a service starts that offers more than its agent")
	}
	if !strings.Contains(err.Error(), "the agent offers callers other than root none at most: start it with brigd --network allow") {
		t.Errorf("%v; want both settings and the cure", err)
	}

	closed.Stop()
	if c, err := net.Dial("unix", "/run/brig/brigd.sock"); err == nil {
		c.Close()
		t.Skip("a brigd answers where brig serve looks for one")
	}

	server, dir := webServer(t), harness.PublicDir(t, "brig-e2e-")
	s := harness.LaunchServe(t, "--data-dir", filepath.Join(dir, "own"), "--agent-arg=--run-dir="+filepath.Join(dir, "run"),
		"--agent-arg=--data-dir="+harness.DataDir(t),
		"--agent-arg=--volumes="+filepath.Join(dir, "volumes"), "--network", "public", "--egress-internal", server)
	r := api.Run{Image: "tiny", Argv: []string{"wget", "-q", "-O", "-", "http://" + server + "/z"}, Network: api.NetworkAllow,
		Allow: []string{server}}
	var res api.Result
	s.Call("POST", "/v1/runs", r, 200, &res)
	if string(res.Stdout) != "answer to /z of "+server+"\n" {
		t.Errorf("%s: %s%s", res.Verdict, res.Stdout, res.Stderr)
	}
}
