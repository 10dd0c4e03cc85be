package e2e

import (
	"bytes"
	"context"
	"errors"
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
	"github.com/brig-sandbox/brig/internal/testenv"
)

const hostileDir = "../../testdata/hostile"

// An expectation is a case of the corpus with the methods that the tests use.
type expectation struct{ corpus.Case }

func expectations(t testing.TB) []expectation {
	t.Helper()
	all, err := corpus.Cases()
	if err != nil || len(all) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	var list []expectation
	for _, c := range all {
		list = append(list, expectation{c})
	}
	return list
}

// run is the case as a run that a busy machine has the time to carry out: it may take long to fill a memory.
func (e expectation) run(c canaries) api.Run {
	r := e.Run(c.Canaries)
	if slices.Contains(e.Verdicts, api.WallLimit) {
		return r
	}
	r.Limits.Wall = slowly(20)
	if !slices.Contains(e.Verdicts, api.CPULimit) {
		r.Limits.CPU = slowly(20)
	}
	return r
}

func expectationOf(t testing.TB, id string) expectation {
	t.Helper()
	all := expectations(t)
	i := slices.IndexFunc(all, func(e expectation) bool { return e.ID == id })
	if i < 0 {
		t.Fatalf("there is no case %s", id)
	}
	return all[i]
}

// canaries are the objects of the host that a probe would touch if it reached the host.
type canaries struct{ *corpus.Canaries }

func newCanaries(t testing.TB) canaries {
	t.Helper()
	c, err := corpus.Plant()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return canaries{c}
}

// untouched fails the test if a probe reached a canary.
func (c canaries) untouched(t testing.TB) {
	t.Helper()
	for _, what := range c.Touched() {
		t.Errorf("%s", what)
	}
}

// attempts parses the JSON lines of a probe.
func attempts(t testing.TB, out []byte) []corpus.Attempt {
	t.Helper()
	list, err := corpus.Attempts(out)
	if err != nil {
		t.Error(err)
	}
	return list
}

// check demands that a result has all that the expectation says.
func (e expectation) check(t testing.TB, c canaries, res api.Result) {
	t.Helper()
	for _, what := range e.Check(res, append(c.Secrets(), c.Expand(e.Absent)...)) {
		t.Errorf("%s", what)
	}
}

// buildProbe compiles one program of the corpus; with flags it is compiled again separately.
func buildProbe(t testing.TB, id string, flags ...string) api.File {
	t.Helper()
	if len(flags) == 0 {
		return corpus.Probe(id)
	}

	testenv.NeedTool(t, "gcc", "gcc")
	bin := filepath.Join(t.TempDir(), id)
	args := append([]string{"-static", "-O1", "-pthread", "-w", "-o", bin, filepath.Join(hostileDir, id+".c")}, flags...)
	if out, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
		t.Fatalf("gcc %s: %v\n%s", id, err, out)
	}

	content, err := os.ReadFile(bin)
	if err != nil {
		t.Fatal(err)
	}
	return api.File{Name: id, Content: content, Executable: true}
}

// bare runs the same binary outside, as nobody and with a deadline: a probe that could not reach
// its goal there would prove nothing inside.
func (e expectation) bare(t *testing.T, c canaries, probe api.File) {
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

	ctx, cancel := context.WithDeadline(t.Context(), patience())
	defer cancel()

	cmd := exec.CommandContext(ctx, bin, c.Expand(e.Args)...)
	cmd.Dir, cmd.Env = dir, []string{"PATH=/bin", corpus.EnvName + "=" + corpus.EnvSecret}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534},
		AmbientCaps: e.Control.Ambient, Setpgid: true}
	out, err := cmd.CombinedOutput()
	reapGroup(cmd.Process)
	if err != nil {
		t.Fatalf("bare: %v\n%s", err, out)
	}

	got := map[string]string{}
	for _, a := range attempts(t, out) {
		got[a.Call] = a.Errno
	}

	e.checkReached(t, out)
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
		for deadline := patience(); c.Hits(false) < max(want, 1); time.Sleep(time.Millisecond) {
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

// hostileLimits are the limits of a case that sets none, with time enough on a busy machine.
func hostileLimits() api.Limits {
	l := corpus.Limits()
	l.Wall = slowly(20)
	return l
}

// A neighbour is a run on another slot that the cases must not reach: its files, its processes and
// its secret are checked after each case.
type neighbour struct {
	*guest
	secret, before string
}

const neighbourLook = `cat /box/mark /tmp/mark /dev/shm/mark; ls -A /box /tmp /dev/shm; stat -c '%n %Y' /box/mark; kill -0 $! && echo alive`

func newNeighbour(t *testing.T, a *agent) neighbour {
	t.Helper()
	n := neighbour{guest: a.guestFor(t, api.Strict, seconds(3600)), secret: "canary-of-the-neighbour"}
	n.runLine(t, "echo "+n.secret+" | tee /box/mark /tmp/mark >/dev/shm/mark; sleep 36000 </dev/null >/dev/null 2>&1 &")
	for i := 0; strings.Count(n.before, n.secret) != 3; i++ { // until the pipe has been written
		if n.before = n.runLine(t, neighbourLook); i == 1000 {
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
	if now := n.runLine(t, neighbourLook); now != n.before {
		t.Errorf("the neighbour is not as it was: %q; before %q", now, n.before)
	}
}

// Every case of the corpus runs in a fresh cell, in a kept cell, and in a kept cell in which a run
// just left as much as it could, next to a neighbour.
func TestHostile(t *testing.T) {
	c := newCanaries(t)
	t.Setenv(corpus.EnvName, corpus.EnvSecret)
	a := startAgent(t, "--slots", "2", "--max-wall", "1h", "--max-cpu", "1h")
	neighbour := newNeighbour(t, a)
	residue := buildProbe(t, "residue")
	stored := storedChecksums(t, a)
	outcomes := map[string]bool{}
	for _, e := range expectations(t) {
		id := e.ID
		ran := false
		ok := t.Run(id, func(t *testing.T) {
			ran = true // not excluded by -test.run or -test.skip
			probe := buildProbe(t, id)
			once := func(t *testing.T, mode api.Mode) {
				r := e.run(c)
				r.Mode = mode
				e.Absent = append(slices.Clone(e.Absent), neighbour.secret)
				e.check(t, c, a.run(t, r))
				c.untouched(t)
				neighbour.untouched(t)
				stored.unchanged(t)
			}

			t.Run("control", func(t *testing.T) {
				if (id == "SEC-04" || id == "SEC-07") && !hasForeignEntry(t) {
					t.Skip("this kernel refuses the 32-bit entry to every program, so that nothing outside a sandbox can use it")
				}
				e.control(t, a, c, probe)
			})

			t.Run("fresh", func(t *testing.T) { once(t, api.Fresh) })
			t.Run("pooled", func(t *testing.T) { once(t, api.Strict) })
			t.Run("after residue", func(t *testing.T) {
				r := program(residue)
				r.Limits = hostileLimits()
				wantVerdict(t, a.run(t, r), api.OK)
				once(t, api.Strict)
			})
		})

		if ran {
			outcomes[id] = ok
		}
	}

	writeOutcomes(t, outcomes)
}
