package service

import (
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/agent/egress"
	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/auth"
	"github.com/brig-sandbox/brig/service/client"
	"github.com/brig-sandbox/brig/service/core"
	"github.com/brig-sandbox/brig/service/runs"
)

// A networkAgent executes runs with network as an agent does: it sends sockets of this host's loopback,
// and program uses the TCP socket for names and the listening one. What program returns is the output.
type networkAgent struct {
	t       *testing.T
	program func(names, listening net.Addr) (stdout string)
	fails   bool // the connection ends instead of a result
}

func (a networkAgent) mux() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/health", func(w http.ResponseWriter, r *http.Request) { say(w, 200, api.Health{Slots: 4, Network: "public"}) })
	mux.HandleFunc("POST /v1/runs", func(w http.ResponseWriter, r *http.Request) {
		var run api.Run
		text, err := io.ReadAll(r.Body)
		if err == nil {
			err = json.Unmarshal(text, &run)
		}
		if err != nil {
			a.t.Error(err)
			return
		}
		if api.NetworkWithin(run.Network, api.NetworkLoopback) {
			answerRun(w, r, api.Result{Verdict: api.OK})
			return
		}

		c, rw, err := w.(http.Hijacker).Hijack()
		if err != nil {
			a.t.Error(err)
			return
		}
		defer c.Close()

		_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: "+api.StreamProtocol+"\r\n\r\n")
		rules, err := api.AllowRules(run.Allow)
		if err != nil {
			a.t.Error(err)
		}

		ports, err := api.NetworkPorts(run.Network, rules)
		if err != nil {
			a.t.Error(err)
		}

		sockets, names, listening := loopbackSockets(a.t, len(ports))
		frame := func(k api.FrameType, payload []byte, files ...*os.File) {
			head := make([]byte, api.FrameHeader)
			api.PutFrameHeader(head, k, len(payload))
			if len(files) == 0 {
				_, _ = c.Write(append(head, payload...))
				return
			}
			var fds []int
			for _, f := range files {
				fds = append(fds, int(f.Fd()))
			}
			_, _, _ = c.(*net.UnixConn).WriteMsgUnix(head, syscall.UnixRights(fds...), nil)
		}

		frame(api.FrameNetwork, nil, sockets...)
		for _, f := range sockets {
			f.Close()
		}

		frame(api.FrameAdmitted, nil)
		stdin := ""
		for buf, k := make([]byte, api.FrameMax), api.FrameType(0); k != api.FrameStdinEnd; {
			var part []byte
			if k, part, err = api.ReadFrame(rw, buf); err != nil {
				return
			}
			stdin += string(part)
		}

		out := a.program(names, listening)
		if a.fails {
			return
		}

		for piece := range slices.Chunk([]byte(out+stdin), api.FrameMax) {
			frame(api.FrameStdout, piece)
		}

		text, err = json.Marshal(completeResult(api.Result{Verdict: api.OK, Labels: run.Labels}))
		if err != nil {
			a.t.Error(err)
		}

		frame(api.FrameResult, text)
	})

	return mux
}

// loopbackSockets are the sockets of a run that may reach hosts on so many ports. listening is one of
// those for a port.
func loopbackSockets(t *testing.T, ports int) (files []*os.File, names, listening net.Addr) {
	t.Helper()
	u, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Error(err)
		return nil, nil, nil
	}
	defer u.Close()

	f, err := u.File()
	if err != nil {
		t.Error(err)
	}

	files = append(files, f)
	for i := range 1 + ports {
		l, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
		if err != nil {
			t.Error(err)
			return nil, nil, nil
		}
		defer l.Close()

		if f, err = l.File(); err != nil {
			t.Error(err)
		}

		files = append(files, f)
		if i == 0 {
			names = l.Addr()
		} else {
			listening = l.Addr()
		}
	}

	return files, names, listening
}

// refusedConnection connects, and waits until the relay has refused it.
func refusedConnection(_, listening net.Addr) string {
	c, err := net.Dial("tcp4", listening.String())
	if errors.Is(err, syscall.ECONNRESET) {
		return "refused "
	}
	if err != nil {
		return err.Error()
	}
	defer c.Close()

	_ = c.SetDeadline(time.Now().Add(time.Minute))
	if _, err := c.Read(make([]byte, 1)); err == nil {
		return "not refused"
	}
	return "refused "
}

const networkRunText = `{"language": "python", "source": "1", "stdin": "in", "network": "allow", "allow": ["a.test:8080"]}`

// In each form in which a run with network can be requested, the caller gets its report, and the history has it.
func TestNetworkInEveryForm(t *testing.T) {
	web := serveFake(t, networkAgent{t: t, program: refusedConnection}.mux(), func(c *Config) { c.Network = api.NetworkPublic })
	check := func(what string, out string, n *api.NetworkUsage) {
		t.Helper()
		if n == nil || len(n.Refused) != 1 || n.Connections != 1 || !strings.HasPrefix(out, "refused ") {
			t.Errorf("%s: printed %q, network %+v", what, out, n)
		}
	}

	var res api.Result
	if s := send(t, web, "POST", "/v1/runs", networkRunText, &res); s != 200 || string(res.Stdout) != "refused in" {
		t.Fatalf("%d, %+v", s, res)
	}

	check("a run", string(res.Stdout), res.Network)
	var st api.Status
	send(t, web, "GET", "/v1/runs/"+res.Run, "", &st)
	check("its record", string(st.Result.Stdout), st.Result.Network)

	send(t, web, "POST", "/v1/runs?wait=false", networkRunText, &st)
	_, text, _ := getPage(t, web, "/v1/runs/"+st.Run+"/events")
	send(t, web, "GET", "/v1/runs/"+st.Run, "", &st)
	check("not waited for", string(st.Result.Stdout), st.Result.Network)
	if !strings.Contains(text, "event: stdout\ndata: {\"data\":\"refused ") ||
		!strings.Contains(text, `"network":{"hosts":[],"refused":[{"name":"127.0.0.1"`) {
		t.Errorf("events:\n%s", text)
	}

	var x api.Executed
	if s := send(t, web, "POST", "/execute", `{"code": "1", "network_enabled": true, "allow": ["a.test:8080"]}`, &x); s != 200 {
		t.Errorf("%d", s)
	}

	check("/execute", x.Stdout, x.Network)
	res, err := client.New(web.URL, "").Run(t.Context(),
		api.Run{Language: "python", Source: api.Bytes("1"), Network: api.NetworkAllow, Allow: []string{"a.test:8080"}})
	if err != nil {
		t.Fatal(err)
	}

	check("the Go client", string(res.Stdout), res.Network)
	_, text, _ = getPage(t, web, "/metrics")
	for _, want := range []string{"brig_network_connections_total 4\n", "brig_network_refused_total 4\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("the metrics lack %s", want)
		}
	}
}

// NET-08. When the run has ended, been canceled or lost its agent, nothing is left of its network.
func TestNetworkEndsWithTheRun(t *testing.T) {
	sockets := func() (n int) { // the history opens and closes files as it needs them
		all, err := filepath.Glob("/proc/self/fd/*")
		if err != nil {
			t.Fatal(err)
		}
		for _, fd := range all {
			if to, err := os.Readlink(fd); err == nil && strings.HasPrefix(to, "socket:") { // else it has just been closed
				n++
			}
		}
		return n
	}

	for name, tt := range map[string]struct {
		fails, leaves bool
		want          int
	}{"it ends": {want: 200}, "its agent ends": {fails: true, want: 502}, "its caller leaves": {leaves: true}} {
		t.Run(name, func(t *testing.T) {
			var open []net.Conn
			connected := make(chan struct{})
			goOn := make(chan struct{})
			agent := networkAgent{t: t, fails: tt.fails, program: func(names, _ net.Addr) string {
				for range 5 { // the relay waits for a query on each
					c, err := net.Dial("tcp4", names.String())
					if err != nil {
						t.Error(err)
						continue
					}
					open = append(open, c)
				}
				close(connected)
				<-goOn
				return ""
			}}

			web := serveFake(t, agent.mux(), func(c *Config) { c.Network = api.NetworkPublic })
			send(t, web, "POST", "/v1/runs", `{"image": "a", "argv": ["true"]}`, nil) // the first connection
			before, routines := sockets(), runtime.NumGoroutine()
			if tt.leaves {
				var st api.Status
				send(t, web, "POST", "/v1/runs?wait=false", networkRunText, &st)
				<-connected
				send(t, web, "DELETE", "/v1/runs/"+st.Run, "", nil)
				close(goOn)
				for deadline := time.Now().Add(time.Minute); st.State != api.Done && time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
					send(t, web, "GET", "/v1/runs/"+st.Run, "", &st)
				}
			} else {
				close(goOn)
				if s := send(t, web, "POST", "/v1/runs", networkRunText, nil); s != tt.want {
					t.Errorf("%d; want %d", s, tt.want)
				}
			}

			<-connected
			for _, c := range open {
				_ = c.SetDeadline(time.Now().Add(time.Minute))
				if _, err := c.Read(make([]byte, 1)); err == nil || os.IsTimeout(err) {
					t.Errorf("a connection is open after the end: %v", err)
				}
				c.Close()
			}

			for deadline := time.Now().Add(time.Minute); sockets() > before ||
				runtime.NumGoroutine() > routines; time.Sleep(10 * time.Millisecond) {
				if time.Now().After(deadline) {
					stacks := make([]byte, 1<<20)
					t.Fatalf("%d sockets before, %d after; %d goroutines before, %d after\n%s", before, sockets(), routines,
						runtime.NumGoroutine(), stacks[:runtime.Stack(stacks, true)])
				}
			}
		})
	}
}

// What a run prints is bounded as in other results.
func TestNetworkOutputIsBounded(t *testing.T) {
	agent := networkAgent{t: t, program: func(_, _ net.Addr) string { return strings.Repeat("0123456789abcdef", 17<<16) }}
	web := serveFake(t, agent.mux(), func(c *Config) { c.Network = api.NetworkPublic })
	var res api.Result
	if s := send(t, web, "POST", "/v1/runs", networkRunText, &res); s != 200 || len(res.Stdout) != runs.MaxCollected || !res.StdoutTruncated {
		t.Errorf("%d, %d bytes, truncated %v", s, len(res.Stdout), res.StdoutTruncated)
	}

	small := serveFake(t, agent.mux(), func(c *Config) { c.Network, c.MaxAnswers = api.NetworkPublic, 2*api.MiB })
	var p api.Problem
	if s := send(t, small, "POST", "/v1/runs", networkRunText, &p); s != 429 || p.Code != api.CodeBusy || p.Run == "" {
		t.Errorf("without quota: %d, %+v", s, p)
	}

	var st api.Status
	if send(t, small, "GET", "/v1/runs/"+p.Run, "", &st); st.Result == nil || st.Result.Network == nil || len(st.Result.Stdout) != 64<<10 {
		t.Errorf("its record: %+v", st)
	}
}

// The operator bounds the network of all, and that of each key.
func TestNetworkIsAPermission(t *testing.T) {
	keys, as := keysOf(t, auth.Key{Name: "none"}, auth.Key{Name: "loop", Network: "loopback"}, auth.Key{Name: "some", Network: "allow"},
		auth.Key{Name: "all", Network: "public"})
	agent := networkAgent{t: t, program: func(_, _ net.Addr) string { return "" }}
	rules, err := api.AllowRules([]string{"a.test:8080", "*.b.test"})
	if err != nil {
		t.Fatal(err)
	}

	web := map[string]func(*Config){
		"allow":  func(c *Config) { c.Keys, c.Network, c.EgressAllow = keys, "allow", rules },
		"public": func(c *Config) { c.Keys, c.Network = keys, "public" },
		"none":   func(c *Config) { c.Keys = keys },
		"open":   func(c *Config) { c.Network = "public" },
	}

	for _, tt := range []struct {
		service, key, ask string
		says              string // empty: allowed
	}{
		{"public", "none", `"network": "loopback"`,
			"this key may not request network loopback, but none at most: leave network out, or have the operator " +
				"set network: loopback on the key none"},
		{"public", "none", `"network": "none"`, ""},
		{"public", "loop", `"network": "loopback"`, ""},
		{"public", "loop", `"network": "loopback", "profile": "network"`, ""},
		{"public", "loop", `"profile": "network"`, `may not name the profile "network"`},
		{"public", "loop", `"network": "loopback", "profile": "managed"`, `may not name the profile "managed"`},
		{"public", "loop", `"network": "allow", "allow": ["a.test:8080"]`, "loopback at most"},
		{"public", "some", `"network": "allow", "allow": ["a.test:8080"]`, ""},
		{"public", "some", `"network": "public"`, "allow at most"},
		{"public", "all", `"network": "public"`, ""},
		{"allow", "all", `"network": "public"`,
			"network public is not offered by this service, which offers allow at most: leave network out, or have " +
				"the operator offer it (brig serve --network public)"},
		{"allow", "some", `"network": "allow", "allow": ["a.test:8080"]`, ""},
		{"allow", "some", `"network": "allow", "allow": ["x.b.test"]`, ""},
		{"allow", "some", `"network": "allow", "allow": ["x.b.test", "a.test"]`,
			`allow "a.test": port 80 of it is not offered by this service, which offers a.test:8080, *.b.test: leave it out, or have the operator add it (brig serve --egress-allow)`},
		{"allow", "some", `"network": "allow", "allow": ["127.0.0.1:8080"]`, `allow "127.0.0.1:8080": port 8080`},
		{"none", "all", `"network": "loopback"`, "which offers none at most"},
		{"open", "", `"network": "public"`, ""},
	} {
		var p api.Problem
		s := send(t, serveFake(t, agent.mux(), web[tt.service]), "POST", "/v1/runs",
			`{"language": "python", "source": "1", `+tt.ask+`}`, &p, as[tt.key]...)
		switch {
		case tt.says == "" && s != 200:
			t.Errorf("%s, %s: {%s}: %d, %+v", tt.service, tt.key, tt.ask, s, p)
		case tt.says != "" && (s != 403 || p.Code != api.CodeForbidden || !strings.Contains(p.Detail, tt.says)):
			t.Errorf("%s, %s: {%s}: %d, %+v; want 403 with %q", tt.service, tt.key, tt.ask, s, p, tt.says)
		}
	}

	var p api.Problem
	service := serveFake(t, agent.mux(), web["public"])
	if s := send(t, service, "POST", "/execute", `{"code": "1", "network_enabled": true}`, &p, as["some"]...); s != 403 ||
		!strings.HasPrefix(p.Detail, "network_enabled: this key may not request network public") {
		t.Errorf("/execute: %d, %+v", s, p)
	}
	if s := send(t, service, "POST", "/execute", `{"code": "1", "allow": ["a.test"]}`, &p, as["some"]...); s != 400 ||
		!strings.Contains(p.Detail, "network_enabled is not true") {
		t.Errorf("/execute with hosts alone: %d, %+v", s, p)
	}
}

// A service that offers more than its agent does not start, and neither does one whose settings
// contradict each other.
func TestNetworkWithoutEffectIsRefused(t *testing.T) {
	cfg := serveFake(t, http.NewServeMux(), nil).Config.Handler.(*Gateway).core.Config
	cfg.Network = api.NetworkAllow
	if _, err := New(t.Context(), Config{Config: cfg}); err == nil ||
		!strings.Contains(err.Error(), "the agent offers callers other than root none at most: start it with brigd --network allow") {
		t.Error(err)
	}

	rules, err := api.AllowRules([]string{"a.test"})
	if err != nil {
		t.Fatal(err)
	}

	cfg.Network, cfg.EgressAllow = api.NetworkPublic, rules
	if _, err := New(t.Context(), Config{Config: cfg}); err == nil || !strings.Contains(err.Error(), "--egress-allow") {
		t.Error(err)
	}

	cfg = core.Config{Network: "all"}
	if _, err := New(t.Context(), Config{Config: cfg}); err == nil || !strings.Contains(err.Error(), `network "all" does not exist`) {
		t.Error(err)
	}
}

// The stated memory counts a relay for each slot.
func TestMemoryCountsRelays(t *testing.T) {
	agent := networkAgent{t: t}
	without := serveFake(t, agent.mux(), nil).Config.Handler.(*Gateway).MaxMemory()
	with := serveFake(t, agent.mux(), func(c *Config) { c.Network = api.NetworkAllow }).Config.Handler.(*Gateway).MaxMemory()
	if with-without != 4*memoryOfRelay {
		t.Errorf("%s with network, %s without; want %s more", with, without, 4*memoryOfRelay)
	}
	if limits := egress.DefaultLimits(); limits.Simultaneous != 64 || limits.Names != 4096 {
		t.Errorf("memoryOfRelay is of other limits than %+v", limits)
	}
}
