package sessions

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
	"github.com/brig-sandbox/brig/internal/testenv"
)

// Two sessions and a run see nothing of each other: no file, process, id, IPC object or abstract
// socket.
func TestSessionsSeeNothingOfEachOther(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1")
	one, other := a.NewSession(t, nil), a.NewSession(t, nil)
	startBackground(t, a, one.ID)
	a.WantOutput(t, one.ID, "echo secret > /tmp/secret; echo secret > /dev/shm/secret; echo secret > secret; sleep "+
		"8765 >/dev/null 2>&1 &", "")
	harness.FindProcess(t, "sleep\x008765")
	look := `ls /tmp /dev/shm /box; for p in /proc/[0-9]*; do tr '\0' ' ' < $p/cmdline; done | grep -o 'sleep 876[5]'; cat /proc/self/cgroup | grep -v ':/$'; true`
	if res := a.Shell(t, other.ID, look); strings.Contains(string(res.Stdout), "secret") || strings.Contains(string(res.Stdout), "8765") ||
		strings.Contains(string(res.Stdout), "execs") {
		t.Errorf("the other session sees: %s", res.Stdout)
	}
	if res := a.Shell(t, one.ID, look); !strings.Contains(string(res.Stdout), "secret") || !strings.Contains(string(res.Stdout), "8765") {
		t.Errorf("the session itself sees %s: the test proves nothing", res.Stdout)
	}
	if res := a.MustRun(t, harness.Sh(look)); strings.Contains(string(res.Stdout), "secret") || strings.Contains(string(res.Stdout), "8765") {
		t.Errorf("a run sees: %s", res.Stdout)
	}

	a.WantOutput(t, other.ID, "kill -9 -1; echo shot", "shot\n")
	wantBackgroundAlive(t, a, one.ID)

	// Host ids: the sleepers of two sessions belong to different users, and to none of a slot's
	// users.
	a.WantOutput(t, other.ID, "sleep 8766 >/dev/null 2>&1 &", "")
	harness.FindProcess(t, "sleep\x008766")
	ids := map[string]string{}
	for _, what := range []string{"sleep 8765", "sleep 8766"} {
		out, err := exec.Command(testenv.NeedTool(t, "pgrep", "procps"), "-f", "^"+what+"$").Output()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}

		status, err := os.ReadFile(filepath.Join("/proc", strings.Fields(string(out))[0], "status"))
		if err != nil {
			t.Fatal(err)
		}

		for line := range strings.Lines(string(status)) {
			if f := strings.Fields(line); len(f) > 1 && f[0] == "Uid:" {
				ids[f[1]] = what
			}
		}
	}

	var lowest int
	for id := range ids {
		var n int
		if _, err := fmt.Sscan(id, &n); err != nil {
			t.Fatal(err)
		}
		if lowest == 0 || n < lowest {
			lowest = n
		}
	}

	if len(ids) != 2 || lowest < 0x40000000+4096*65536 {
		t.Errorf("the host's ids of two sessions' processes: %v; want two, above those of slots", ids)
	}
}

// Another user of the socket does not find a session, whatever it tries; root does.
func TestSessionBelongsToItsCreator(t *testing.T) {
	testenv.NeedTool(t, "setpriv", "util-linux")
	a := harness.StartAgent(t, "--group", "daemon")
	brig := harness.Binary(t, "brig")
	s := a.NewSession(t, nil) // root's
	if err := a.PutFile(t.Context(), s.ID, "secret", strings.NewReader("root's"), false); err != nil {
		t.Fatal(err)
	}

	place := harness.PublicDir(t, "session-")
	if err := os.Chmod(a.Dir, 0o755); err != nil {
		t.Fatal(err)
	}

	copied := filepath.Join(place, "brig")
	if out, err := exec.Command("cp", brig, copied).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}

	as := func(uid int, args ...string) (string, error) {
		cmd := exec.Command("setpriv", append([]string{fmt.Sprintf("--reuid=%d", uid), "--regid=65534", "--groups=daemon", copied}, args...)...)
		cmd.Env = append(os.Environ(), "BRIG_SOCKET="+a.Socket)
		cmd.Dir = place
		out, err := cmd.CombinedOutput()
		return string(out), err
	}

	for _, args := range [][]string{
		{"session", "exec", s.ID, "--", "cat", "secret"}, {"session", "get", s.ID, "secret"}, {"session", "put", s.ID, copied, "secret"},
		{"session", "files", s.ID}, {"session", "rm", s.ID},
	} {
		if out, err := as(4001, args...); err == nil || !strings.Contains(out, "no session has the id") {
			t.Errorf("another user's %v: %v, %s", args, err, out)
		}
	}

	if out, err := as(4001, "session", "ls"); err != nil || strings.Contains(out, s.ID) {
		t.Errorf("another user lists: %v, %s", err, out)
	}

	out, err := as(4001, "session", "create", "--rootfs", "tiny", "--memory", "32M")
	id := strings.TrimSpace(out)
	if err != nil {
		t.Fatalf("another user makes a session: %v, %s", err, out)
	}
	if out, err := as(4001, "session", "exec", id, "--", "echo", "mine"); err != nil || out != "mine\n" {
		t.Errorf("in the own session: %v, %q", err, out)
	}
	if out, err := as(4002, "session", "exec", id, "--", "echo", "mine"); err == nil {
		t.Errorf("a third user in it: %q", out)
	}

	a.WantOutput(t, id, "echo root may", "root may\n")
	if out, err := as(4001, "session", "rm", id); err != nil {
		t.Errorf("ending the own session: %v, %s", err, out)
	}

	_, err = a.Session(t.Context(), s.ID)
	if err != nil {
		t.Errorf("root's session: %v", err)
	}
	if out, err := as(4002, "session", "files", id); err == nil || !strings.Contains(out, "no session has the id") {
		t.Errorf("a third user learns that it was there: %v, %s", err, out)
	}
}

// AGT-01: an agent that is killed takes its sessions with it, and the next agent finds nothing to
// resume: not even the ids.
func TestKilledAgentTakesItsSessions(t *testing.T) {
	testenv.NeedRoot(t)
	dir := harness.PublicDir(t, "brig-e2e-")
	testenv.CleanHost(t)
	a := harness.Launch(t, dir, harness.DataDir(t))
	s := a.NewSession(t, nil)
	startBackground(t, a, s.ID)
	a.WantOutput(t, s.ID, "sleep 8767 >/dev/null 2>&1 &", "")
	failed := make(chan error, 1)
	go func() { _, err := a.Exec(t.Context(), s.ID, harness.ShellExec("sleep 8768")); failed <- err }()
	harness.FindProcess(t, "sleep\x008768")

	var cells []int // of the session, and the one that was made ahead for the next
	harness.Eventually(t, "a cell that was made ahead", func() bool {
		cells = firstProcesses(t, a)
		return len(cells) == 2
	})
	a.Kill()
	harness.WantCode(t, <-failed, api.CodeAgentGone)
	for _, pid := range cells {
		harness.Eventually(t, "the end of the cells", func() bool { return syscall.Kill(pid, 0) != nil })
	}
	for deadline := harness.Patience(); len(harness.ProcessesNamed(t, "sleep\x008767"))+len(harness.ProcessesNamed(t, "sleep\x008768")) > 0; {
		if time.Now().After(deadline) {
			t.Fatal("processes outlive the agent")
		}
	}

	record, err := harness.RecordedGroups(dir)
	if err != nil || len(record) == 0 {
		t.Errorf("the dead agent recorded %d groups, %v", len(record), err)
	}

	b := harness.Launch(t, dir, harness.DataDir(t))
	if left := harness.ExistingGroups(record); len(left) > 0 {
		t.Errorf("groups of the dead agent outlive the start of the next: %q", left)
	}

	_, err = b.Session(t.Context(), s.ID)
	harness.WantCode(t, err, api.CodeNotFound)

	// A stop also ends sessions, with what runs in them.
	s = b.NewSession(t, nil)
	b.WantOutput(t, s.ID, "sleep 8769 >/dev/null 2>&1 &", "")
	b.Stop()
	if left := harness.ProcessesNamed(t, "sleep\x008769"); len(left) != 0 {
		t.Errorf("processes outlive a stop: %v", left)
	}
}

// firstProcesses are the first ones of all cells for sessions.
func firstProcesses(t *testing.T, a *harness.Agent) (pids []int) {
	t.Helper()
	parent := fmt.Sprintf("\nPPid:\t%d\n", a.Cmd.Process.Pid)
	for _, p := range a.CellProcesses(t, "*session-*") {
		made := !strings.HasPrefix(p.Status, "Name:\trunc:") // one that is being made waits for the agent: the next one ends it
		if made && strings.Contains(p.Status, parent) && !slices.Contains(pids, p.Pid) {
			pids = append(pids, p.Pid)
		}
	}
	return pids
}
