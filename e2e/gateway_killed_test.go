package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// A result that was returned is in the history, whichever process is killed.
func TestGatewayKilled(t *testing.T) {
	a := startAgent(t, sharedFlags...)
	data := filepath.Join(a.dir, "gateway")
	s := launchService(t, a, data)
	var mu sync.Mutex
	var reported []string
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				res, err := s.request(t.Context(), "POST", "/v1/runs", sh("true"))
				if err != nil {
					return
				}
				var r api.Result
				err = json.NewDecoder(res.Body).Decode(&r)
				res.Body.Close()
				if err != nil {
					return
				}
				mu.Lock()
				reported = append(reported, r.Run)
				mu.Unlock()
			}
		})
	}
	for deadline := patience(); ; time.Sleep(5 * time.Millisecond) {
		mu.Lock()
		n := len(reported)
		mu.Unlock()
		if n > 50 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("few runs are answered")
		}
	}
	_ = s.cmd.Process.Kill()
	<-s.done
	wg.Wait()
	s = launchService(t, a, data)
	defer s.stop()
	kept := map[string]bool{}
	for _, e := range pages[struct {
		Run string `json:"run_id"`
	}](s, "/v1/history?limit=1000") {
		kept[e.Run] = true
	}
	for _, id := range reported {
		if !kept[id] {
			t.Errorf("run %s was answered and is not in the history", id)
		}
	}

	// Without its agent the service reports that it is not ready, and resumes when there is an
	// agent again.
	running := s.startDetached(sh("sleep 60"))
	s.listen(running, "", func(e streamEvent) bool { return e.name != "started" })
	a.kill()
	if st := s.waitDone(running); st.Error == nil || st.Error.Code != api.CodeAgentGone {
		t.Errorf("a run whose agent was killed: %+v", st)
	}
	s.refused("POST", "/v1/runs", sh("true"), 503, api.CodeAgentUnreachable)
	s.call("GET", "/health/ready", nil, 503, nil) // known from now on
	s.call("GET", "/health/live", nil, 200, nil)
	b := launch(t, a.dir, a.data, sharedFlags...)
	defer b.stop()
	var res api.Result
	s.call("POST", "/v1/runs", sh("echo again"), 200, &res)
	wantVerdict(t, res, api.OK)
}

// API-12: without keys the service does not listen on an address that other hosts can reach.
func TestServeWithoutKeysRefusesPublicAddresses(t *testing.T) {
	for args, want := range map[string]string{
		"--listen 0.0.0.0:0":                    "--keys",
		"--listen :0":                           "--keys",
		"--listen [::]:0":                       "--keys",
		"--listen 192.0.2.1:80":                 "--keys",
		"--listen 127.0.0.1:0 --keys /none":     "/none",
		"--listen 127.0.0.1":                    "host:port",
		"--listen 127.0.0.1:0 --tls-cert x":     "--tls-key",
		"--listen 127.0.0.1:0 --config /none":   "/none",
		"--listen 127.0.0.1:0 --user nobodyyyy": "nobodyyyy",

		"--listen 127.0.0.1:0 --history-runs 0":     "--history-runs",
		"--listen 127.0.0.1:0 --history-bytes 1000": "--history-bytes",
	} {
		cmd := exec.CommandContext(t.Context(), binary(t, "brig"), append([]string{"serve", "--data-dir", t.TempDir(), "--socket", "/none/socket"}, strings.Fields(args)...)...)
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), want) {
			t.Errorf("brig serve %s: %v, %q; want a refusal that names %s", args, err, out, want)
		}
	}
}

// A client that does not read its answer delays the shutdown by no more than the stated time, and
// no session outlives the service because of it.
func TestGatewayEndsDespiteASlowReader(t *testing.T) {
	a := startAgent(t, sharedFlags...)
	s := startService(t, a, "--grace", "1s")
	id := s.session("p", "t")
	s.call("PUT", "/v1/sessions/"+id+"/files/large", io.Reader(strings.NewReader(strings.Repeat("x", 40<<20))), 204, nil)
	c, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := fmt.Fprintf(c, "GET /v1/sessions/%s/files/large HTTP/1.1\r\nHost: localhost\r\n\r\n", id); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read(make([]byte, 1)); err != nil { // the answer arrives, and the rest is not read
		t.Fatal(err)
	}
	begun := time.Now()
	s.stop()
	if s.err != nil {
		t.Errorf("it ended with %v\n%s", s.err, s.log)
	}
	if took := time.Since(begun); took > slow(12*time.Second) {
		t.Errorf("it took %v to end", took)
	}
	if left, err := a.Sessions(t.Context()); err != nil || len(left) > 0 {
		t.Errorf("sessions %+v are left, %v", left, err)
	}
}
