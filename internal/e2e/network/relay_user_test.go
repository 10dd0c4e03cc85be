package network

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// A peerServer records which users of this host connect to it.
type peerServer struct {
	*httptest.Server
	mu   sync.Mutex
	uids map[string]int // guarded by mu; requests, by user id
}

func newPeerServer(t *testing.T, handle http.HandlerFunc) *peerServer {
	t.Helper()
	p := &peerServer{}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		uid, err := userOf(netip.MustParseAddrPort(r.RemoteAddr))
		if err != nil {
			t.Error(err)
		}
		p.mu.Lock()
		p.uids[uid]++
		p.mu.Unlock()
		handle(w, r)
	}))

	t.Cleanup(p.Close)
	return p
}

// begin forgets what was recorded.
func (p *peerServer) begin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.uids = map[string]int{}
}

// only reports whether one user connected, and no other.
func (p *peerServer) only(uid string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.uids[uid] > 0 && len(p.uids) == 1
}

// userOf returns the user id of the socket that has an address of this host.
func userOf(a netip.AddrPort) (string, error) {
	text, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		return "", err
	}
	ip := a.Addr().As4()
	local := fmt.Sprintf("%02X%02X%02X%02X:%04X", ip[3], ip[2], ip[1], ip[0], a.Port())
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 7 && f[1] == local {
			return f[7], nil
		}
	}
	return "", fmt.Errorf("there is no socket %s", a)
}

// Root's own runs and installers reach hosts with the rights of the user that called sudo, or of a user
// that nobody else is: a program that takes the relay over has not root. The result says what the run
// reached all the same, and a relay that is refused ends the run.
func TestNetworkIsRelayedWithoutRoot(t *testing.T) {
	a, x := startInstaller(t), newIndex(t)
	web := newPeerServer(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") })
	index := newPeerServer(t, x.answer)
	brig := func(sudo string, args ...string) ([]byte, error) {
		cmd := exec.Command(harness.Binary(t, "brig"), args...)
		cmd.Env = append(os.Environ(), "BRIG_SOCKET="+a.Socket, "SUDO_UID="+sudo, "PKEXEC_UID=", "DOAS_USER=")
		return cmd.CombinedOutput()
	}

	address := strings.TrimPrefix(web.URL, "http://")
	fetch := []string{"run", "--json", "--language", "python", "--allow", address, "-c",
		"import urllib.request; print(urllib.request.urlopen('" + web.URL + "').read().decode())"}
	for sudo, uid := range map[string]string{"": "2000065536", "1": "1"} {
		web.begin()
		out, err := brig(sudo, fetch...)
		var res api.Result
		if jerr := json.Unmarshal(out, &res); err != nil || jerr != nil || string(res.Stdout) != "hello\n" {
			t.Fatalf("SUDO_UID=%s: %v, %v\n%s", sudo, err, jerr, out)
		}
		if !web.only(uid) {
			t.Errorf("SUDO_UID=%s: the server was reached by %v; want %s", sudo, web.uids, uid)
		}
		if u := res.Network; u == nil || len(u.Hosts) != 1 || u.BytesIn == 0 {
			t.Errorf("SUDO_UID=%s: the result tells %+v", sudo, u)
		}

		name := "one" + sudo
		x.wheel(t, name, "1.0", "", map[string]string{name + ".py": "x = 1\n"})
		index.begin()
		if out, err := brig(sudo, "packages", "warm", "--language", "python", "--index", index.URL+"/simple",
			name); err != nil || !index.only(uid) {
			t.Errorf("SUDO_UID=%s: the index was reached by %v; want %s: %v\n%s", sudo, index.uids, uid, err, out)
		}
	}

	if out, err := brig("4123456789", fetch...); err == nil || !strings.Contains(string(out), "the network could not "+
		"be relayed: SUDO_UID: ") {
		t.Errorf("a user that does not exist: %v\n%s", err, out)
	}
}

// A run of root that is interrupted, or whose brig is killed, leaves no process that relays.
func TestNetworkRelayEndsWithBrig(t *testing.T) {
	a := harness.StartAgent(t)
	a.NeedPython(t)
	asked := make(chan struct{}, 1)
	web := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		<-r.Context().Done()
	}))
	defer web.Close()

	for _, end := range []syscall.Signal{syscall.SIGINT, syscall.SIGKILL} {
		cmd := exec.Command(harness.Binary(t, "brig"), "run", "--language", "python", "--allow", strings.TrimPrefix(web.URL, "http://"), "-c",
			"import urllib.request; urllib.request.urlopen('"+web.URL+"')")
		cmd.Env = append(os.Environ(), "BRIG_SOCKET="+a.Socket, "SUDO_UID=")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}

		<-asked
		relays := harness.Descendants(t, cmd.Process.Pid)
		if len(relays) != 1 {
			t.Errorf("%d processes relay", len(relays))
		}
		if err := cmd.Process.Signal(end); err != nil {
			t.Error(err)
		}

		_ = cmd.Wait() // it was interrupted
		if code := cmd.ProcessState.ExitCode(); end == syscall.SIGINT && code != 130 {
			t.Errorf("exit code %d after %v; want 130", code, end)
		}

		for _, pid := range relays {
			for deadline := harness.Patience(); ; time.Sleep(10 * time.Millisecond) {
				if err := syscall.Kill(pid, 0); err != nil {
					break
				} else if time.Now().After(deadline) {
					t.Fatalf("after %v the relay goes on", end)
				}
			}
		}
	}
}
