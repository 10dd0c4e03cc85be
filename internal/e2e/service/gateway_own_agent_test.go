package service

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
	"github.com/brig-sandbox/brig/internal/testenv"
)

// Two services, each with its own agent, do not reserve the host's memory twice.
func TestSecondAgentNeedsItsOwnMemoryLimit(t *testing.T) {
	testenv.NeedRoot(t)
	if c, err := net.Dial("unix", "/run/brig/brigd.sock"); err == nil {
		c.Close()
		t.Skip("a brigd answers where brig serve looks for one")
	}

	dir := harness.PublicDir(t, "brig-e2e-")
	flags := func(name string, more ...string) []string {
		return append([]string{"--data-dir", filepath.Join(dir, name), "--agent-arg=--run-dir=" + filepath.Join(dir, "run"),
			"--agent-arg=--data-dir=" + harness.DataDir(t),
			"--agent-arg=--volumes=" + filepath.Join(dir, "volumes")}, more...)
	}

	first := harness.LaunchServe(t, flags("first")...)
	var had struct {
		Agent struct {
			Max int64 `json:"memory_ceiling_bytes"`
		}
	}

	first.Call("GET", "/health", nil, 200, &had)

	cmd := exec.Command(harness.Binary(t, "brig"), append([]string{"serve", "--listen", "127.0.0.1:0", "--images", ""}, flags("second")...)...)
	cmd.Env = append(cmd.Environ(), "SANDBOX_PORT=", "BRIG_SOCKET=")
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "--agent-arg=--memory=SIZE") || strings.Contains(string(out), "brig serves") {
		t.Errorf("a second service: %v\n%s", err, out)
	}

	second := harness.LaunchServe(t, flags("second", "--agent-arg=--memory=256M")...)
	var has = had
	second.Call("GET", "/health", nil, 200, &has)
	if has.Agent.Max != 256<<20 || had.Agent.Max <= has.Agent.Max {
		t.Errorf("the first offers %d, the second %d; want it 256 MiB", had.Agent.Max, has.Agent.Max)
	}

	second.Stop()
	first.Stop()
	harness.LaunchServe(t, flags("first")...).Stop() // the reservation ended with the service
}

// A service whose own agent is killed stops in order and says so, because it has dropped the root
// privileges it would need to start another. The next service is not obstructed.
func TestServiceEndsWithItsAgent(t *testing.T) {
	testenv.NeedRoot(t)
	if c, err := net.Dial("unix", "/run/brig/brigd.sock"); err == nil {
		c.Close()
		t.Skip("a brigd answers where brig serve looks for one")
	}

	dir := harness.PublicDir(t, "brig-e2e-")
	flags := []string{"--data-dir", filepath.Join(dir, "kept"), "--grace", "10m", "--agent-arg=--run-dir=" + filepath.Join(dir, "run"),
		"--agent-arg=--data-dir=" + harness.DataDir(t),
		"--agent-arg=--volumes=" + filepath.Join(dir, "volumes"), "--agent-arg=--slots=1", "--agent-arg=--max-wall=1h"}
	s := harness.LaunchServe(t, flags...)
	var session api.Session
	s.Call("POST", "/v1/sessions", api.SessionRequest{Image: "tiny", Limits: api.Limits{Memory: 64 * api.MiB}}, 201, &session)
	lasts := harness.Sh("sleep 600")
	lasts.Limits.Wall = harness.Slowly(300) // it does not end before the agent
	running := s.StartDetached(lasts)
	s.Listen(running, "", func(e harness.StreamEvent) bool { return e.Name != "started" })

	// If this were sent earlier, it could be the run that gets the slot. The service has to know of
	// it before the agent ends, or the request would be refused.
	waits := runOverHTTP(s, lasts)
	var h struct{ Load, Queued int }
	harness.Eventually(t, "the second run to wait for the slot",
		func() bool { s.Call("GET", "/health", nil, 200, &h); return h.Load == 1 && h.Queued == 1 })
	if err := syscall.Kill(harness.Descendants(t, s.Cmd.Process.Pid)[0], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}

	select {
	case <-s.Done:
	case <-time.After(time.Until(harness.Patience())):
		s.Stop()
		t.Fatalf("it goes on without an agent\n%s", s.Log)
	}

	if code := s.Cmd.ProcessState.ExitCode(); code != 125 ||
		!strings.Contains(s.Log.String(), "the agent ended (signal: killed): start brig serve again") {
		t.Errorf("it ends with exit status %d\n%s", code, s.Log)
	}
	if status := <-waits; status != 503 && status != 502 {
		t.Errorf("a request that waited gets %d", status)
	}

	s = harness.LaunchServe(t, flags...)
	var res api.Result
	s.Call("POST", "/v1/runs", harness.Sh("echo again"), 200, &res)
	harness.WantVerdict(t, res, api.OK)
	var recorded api.Status
	if s.Call("GET", "/v1/runs/"+running, nil, 200, &recorded); recorded.Error == nil || recorded.Error.Code != api.CodeAgentGone {
		t.Errorf("of the run that was under way the history has %+v", recorded)
	}

	s.Call("GET", "/v1/sessions/"+session.ID, nil, 404, nil)
}

// In the agent and the service, the thread of Go's monitor may be woken late; most other threads
// and the programs may not.
func TestGatewayThreadsHaveTimerSlack(t *testing.T) {
	a := harness.StartAgent(t, harness.SharedFlags...)
	s := harness.StartService(t, a)
	for _, pid := range []int{a.Cmd.Process.Pid, s.Cmd.Process.Pid} {
		threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
		if err != nil {
			t.Fatal(err)
		}

		late := 0
		for _, thread := range threads {
			switch slack, err := os.ReadFile("/proc/" + thread.Name() + "/timerslack_ns"); {
			case err == nil && string(slack) == "10000000\n":
				late++
			case err != nil || string(slack) != "50000\n":
				t.Errorf("a thread of process %d has a slack of %q, %v", pid, slack, err)
			}
		}

		if late == 0 || late > len(threads)/2 { // a thread that the monitor creates on a loaded machine inherits its slack
			t.Errorf("%d of the %d threads of process %d may be woken late; want Go's monitor, and few that it made", late, len(threads), pid)
		}
	}

	res := a.MustRun(t, harness.Sh("cat /proc/self/timerslack_ns"))
	if harness.WantVerdict(t, res, api.OK); string(res.Stdout) != "50000\n" {
		t.Errorf("a program has a slack of %q, want the kernel's 50 us", res.Stdout)
	}
}
