package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/testenv"
)

// Two sessions and a run see nothing of each other: no file, process, id, IPC object or abstract
// socket.
func TestSessionsSeeNothingOfEachOther(t *testing.T) {
	a := startAgent(t, "--slots", "1")
	one, other := a.session(t, nil), a.session(t, nil)
	a.startBackground(t, one.ID)
	a.wantOutput(t, one.ID, "echo secret > /tmp/secret; echo secret > /dev/shm/secret; echo secret > secret; sleep "+
		"8765 >/dev/null 2>&1 &", "")
	findProcess(t, "sleep\x008765")
	look := `ls /tmp /dev/shm /box; for p in /proc/[0-9]*; do tr '\0' ' ' < $p/cmdline; done | grep -o 'sleep 876[5]'; cat /proc/self/cgroup | grep -v ':/$'; true`
	if res := a.exec(t, other.ID, look); strings.Contains(string(res.Stdout), "secret") || strings.Contains(string(res.Stdout), "8765") ||
		strings.Contains(string(res.Stdout), "execs") {
		t.Errorf("the other session sees: %s", res.Stdout)
	}
	if res := a.exec(t, one.ID, look); !strings.Contains(string(res.Stdout), "secret") || !strings.Contains(string(res.Stdout), "8765") {
		t.Errorf("the session itself sees %s: the test proves nothing", res.Stdout)
	}
	if res := a.run(t, sh(look)); strings.Contains(string(res.Stdout), "secret") || strings.Contains(string(res.Stdout), "8765") {
		t.Errorf("a run sees: %s", res.Stdout)
	}

	a.wantOutput(t, other.ID, "kill -9 -1; echo shot", "shot\n")
	a.wantBackgroundAlive(t, one.ID)

	// Host ids: the sleepers of two sessions belong to different users, and to none of a slot's
	// users.
	a.wantOutput(t, other.ID, "sleep 8766 >/dev/null 2>&1 &", "")
	findProcess(t, "sleep\x008766")
	ids := map[string]string{}
	for _, what := range []string{"sleep 8765", "sleep 8766"} {
		out, err := exec.Command("pgrep", "-f", "^"+what+"$").Output()
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
	a := startAgent(t, "--group", "daemon")
	brig := binary(t, "brig")
	s := a.session(t, nil) // root's
	if err := a.PutFile(t.Context(), s.ID, "secret", strings.NewReader("root's"), false); err != nil {
		t.Fatal(err)
	}

	place := publicDir(t, "session-")
	if err := os.Chmod(a.dir, 0o755); err != nil {
		t.Fatal(err)
	}

	copied := filepath.Join(place, "brig")
	if out, err := exec.Command("cp", brig, copied).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}

	as := func(uid int, args ...string) (string, error) {
		cmd := exec.Command("setpriv", append([]string{fmt.Sprintf("--reuid=%d", uid), "--regid=65534", "--groups=daemon", copied}, args...)...)
		cmd.Env = append(os.Environ(), "BRIG_SOCKET="+a.socket)
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

	a.wantOutput(t, id, "echo root may", "root may\n")
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
	dir := publicDir(t, "brig-e2e-")
	testenv.CleanHost(t)
	a := launch(t, dir, dataDir(t))
	s := a.session(t, nil)
	a.startBackground(t, s.ID)
	a.wantOutput(t, s.ID, "sleep 8767 >/dev/null 2>&1 &", "")
	failed := make(chan error, 1)
	go func() { _, err := a.Exec(t.Context(), s.ID, shellExec("sleep 8768")); failed <- err }()
	findProcess(t, "sleep\x008768")
	a.kill()
	wantCode(t, <-failed, api.CodeAgentGone)
	for deadline := patience(); len(processesNamed(t, "sleep\x008767"))+len(processesNamed(t, "sleep\x008768")) > 0; {
		if time.Now().After(deadline) {
			t.Fatal("processes outlive the agent")
		}
	}

	record, err := recordedGroups(dir)
	if err != nil || len(record) == 0 {
		t.Errorf("the dead agent recorded %d groups, %v", len(record), err)
	}

	b := launch(t, dir, dataDir(t))
	if left := existingGroups(record); len(left) > 0 {
		t.Errorf("groups of the dead agent outlive the start of the next: %q", left)
	}

	_, err = b.Session(t.Context(), s.ID)
	wantCode(t, err, api.CodeNotFound)

	// A stop also ends sessions, with what runs in them.
	s = b.session(t, nil)
	b.wantOutput(t, s.ID, "sleep 8769 >/dev/null 2>&1 &", "")
	b.stop()
	if left := processesNamed(t, "sleep\x008769"); len(left) != 0 {
		t.Errorf("processes outlive a stop: %v", left)
	}
}
