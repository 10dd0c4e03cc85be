package isolation

import (
	"bytes"
	"context"
	"errors"
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
	"github.com/brig-sandbox/brig/internal/corpus"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
	"github.com/brig-sandbox/brig/internal/procfs"
)

// runBare runs the same binary outside, as nobody and with a deadline: a probe that could not reach
// its goal there would prove nothing inside.
func runBare(t *testing.T, e harness.Expectation, c harness.Canaries, probe api.File) {
	dir := filepath.Join(c.Dir, "control-"+probe.Name)
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(dir, 65534, 65534); err != nil {
		t.Fatal(err)
	}

	bin := filepath.Join(dir, probe.Name)
	if err := os.WriteFile(bin, probe.Content, 0o755); err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithDeadline(t.Context(), harness.Patience())
	defer cancel()

	cmd := exec.CommandContext(ctx, bin, c.Expand(e.Args)...)
	cmd.Dir, cmd.Env = dir, []string{"PATH=/bin", corpus.EnvName + "=" + corpus.EnvSecret}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534},
		AmbientCaps: e.Control.Ambient, Setpgid: true}
	out, err := cmd.CombinedOutput()
	reapGroup(cmd.Process)
	killIn(t, dir)
	if err != nil {
		t.Fatalf("bare: %v\n%s", err, out)
	}

	got := map[string]string{}
	for _, a := range harness.Attempts(t, out) {
		got[a.Call] = a.Errno
	}

	checkReached(t, e, out)
	for _, s := range e.Control.Stdout {
		if !bytes.Contains(out, []byte(s)) {
			t.Errorf("bare, the output lacks %q: the probe proves nothing", s)
		}
	}

	switch e.Control.Canary {
	case "env":
		if !bytes.Contains(out, []byte(corpus.EnvSecret)) {
			t.Error("bare, the environment's canary is not seen: the probe proves nothing")
		}
	case "file":
		if b, err := os.ReadFile(filepath.Join(dir, "abs.txt")); err != nil || string(b) != corpus.Secret {
			t.Errorf("bare, the link does not lead to the canary: %q, %v", b, err)
		}
	case "listener":
		want := int64(0) // a goroutine accepts each connection, asynchronously
		for call, errno := range got {
			if strings.HasPrefix(call, "connect") && errno == "0" {
				want++
			}
		}
		for deadline := harness.Patience(); c.Hits(false) < max(want, 1); time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("bare, %d of %d connections reach the canary: the probe proves nothing", c.Hits(false), want)
			}
		}
		c.Hits(true)
	}
}

// reapGroup waits for the children of this process that are in the group of leader, which has
// ended: with CLONE_PARENT (SEC-40) a probe creates siblings of itself.
func reapGroup(leader *os.Process) {
	if leader == nil {
		return
	}
	for {
		_, err := syscall.Wait4(-leader.Pid, nil, 0, nil)
		if err != nil && !errors.Is(err, syscall.EINTR) { // ECHILD: none is left
			return
		}
	}
}

// killIn kills the processes that a probe leaves behind in a directory, such as the child of FIO-08, which would create
// files while the test removes the directory.
func killIn(t *testing.T, dir string) {
	t.Helper()
	for deadline := harness.Patience(); ; time.Sleep(time.Millisecond) {
		left := 0
		all, err := procfs.Processes()
		if err != nil {
			t.Fatal(err)
		}

		for pid := range all {
			if at, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid)); err == nil && at == dir {
				_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
				left++
			}
		}
		if left == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d processes stay in %s", left, dir)
		}
	}
}

// A neighbour is a run on another slot that the cases must not reach: its files, its processes and
// its secret are checked after each case.
type neighbour struct {
	*harness.Guest
	secret, before string
}

const neighbourLook = `cat /box/mark /tmp/mark /dev/shm/mark; ls -A /box /tmp /dev/shm; stat -c '%n %Y' /box/mark; kill -0 $! && echo alive`

func newNeighbour(t *testing.T, a *harness.Agent) neighbour {
	t.Helper()
	n := neighbour{Guest: a.GuestFor(t, api.Strict, harness.Seconds(3600)), secret: "canary-of-the-neighbour"}
	n.RunLine(t, "echo "+n.secret+" | tee /box/mark /tmp/mark >/dev/shm/mark; sleep 36000 </dev/null >/dev/null 2>&1 &")
	for i := 0; strings.Count(n.before, n.secret) != 3; i++ { // until the pipe has been written
		if n.before = n.RunLine(t, neighbourLook); i == 1000 {
			t.Fatalf("the neighbour has not written all of its marks: %q", n.before)
		}
	}
	if !strings.HasSuffix(n.before, "alive\n") {
		t.Fatalf("the neighbour's process is not there: %q", n.before)
	}
	return n
}

func (n neighbour) untouched(t *testing.T) {
	t.Helper()
	if now := n.RunLine(t, neighbourLook); now != n.before {
		t.Errorf("the neighbour is not as it was: %q; before %q", now, n.before)
	}
}

// Every case of the corpus runs in a fresh cell, in a kept cell, or in a kept cell in which a run
// just left as much as it could, next to a neighbour: in make test in one of the three, by turns, and in
// all three for make test-long and for the table of outcomes.
func TestHostile(t *testing.T) {
	c := harness.NewCanaries(t)
	t.Setenv(corpus.EnvName, corpus.EnvSecret)
	a := harness.StartAgent(t, "--slots", "2", "--max-wall", "1h", "--max-cpu", "1h")
	neighbour := newNeighbour(t, a)
	residue := harness.BuildProbe(t, "residue")
	stored := harness.StoredFiles(t, a)
	outcomes := map[string]bool{}
	for n, e := range harness.Expectations(t) {
		id := e.ID
		ran := false
		turn := func(k int) bool { return *harness.OutcomesFile != "" || !harness.LeftOut(n+k, 3) }
		ok := t.Run(id, func(t *testing.T) {
			ran = true // not excluded by -test.run or -test.skip
			probe := harness.BuildProbe(t, id)
			once := func(t *testing.T, mode api.Mode) {
				r := e.Request(c)
				r.Mode = mode
				e.Absent = append(slices.Clone(e.Absent), neighbour.secret)
				e.CheckResult(t, c, a.MustRun(t, r))
				c.Untouched(t)
				neighbour.untouched(t)
				stored.Unchanged(t)
			}

			t.Run("control", func(t *testing.T) {
				if (id == "SEC-04" || id == "SEC-07") && !hasForeignEntry(t) {
					t.Skip("this kernel refuses the 32-bit entry to every program, so that nothing outside a sandbox can use it")
				}
				runControl(t, e, a, c, probe)
			})

			if turn(0) {
				t.Run("fresh", func(t *testing.T) { once(t, api.Fresh) })
			}
			if turn(1) {
				t.Run("pooled", func(t *testing.T) { once(t, api.Strict) })
			}
			if turn(2) {
				t.Run("after residue", func(t *testing.T) {
					r := harness.Program(residue)
					r.Limits = harness.HostileLimits()
					harness.WantVerdict(t, a.MustRun(t, r), api.OK)
					once(t, api.Strict)
				})
			}
		})

		if ran {
			outcomes[id] = ok
		}
	}

	writeOutcomes(t, outcomes)
}
