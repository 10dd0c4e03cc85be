package neighbours

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// The second layer of RES-01 to RES-07, RES-19, RES-20 and RES-22: where the filter lets every call
// through, a run can really leave System V objects, queues, sockets and keys, and the next run in
// its cell finds none.
func TestHostileResidueWithoutTheFilter(t *testing.T) {
	c := harness.NewCanaries(t)
	a := harness.StartAgent(t, "--slots", "1")
	open := func(r api.Run) api.Result {
		r.ProfileMode, r.Limits = api.Log, harness.HostileLimits()
		return a.MustRun(t, r)
	}
	residue := harness.BuildProbe(t, "residue")
	cell := func() string { return string(open(harness.Sh("readlink /proc/self/ns/user")).Stdout) }
	for _, id := range []string{"RES-01", "RES-02", "RES-03", "RES-04", "RES-05", "RES-06", "RES-07", "RES-19", "RES-20", "RES-22"} {
		t.Run(id, func(t *testing.T) {
			e, probe := harness.ExpectationOf(t, id), harness.BuildProbe(t, id)
			before := cell()
			left := open(harness.Program(residue, "sealed"))
			harness.WantVerdict(t, left, api.OK)
			reached := map[string]int{}
			for _, x := range harness.Attempts(t, left.Stdout) {
				if x.Errno == "0" {
					reached[x.Call]++
				}
			}

			for _, call := range []string{"shmget", "msgget", "semget", "sem_open", "file"} {
				if reached[call] == 0 {
					t.Errorf("%s leaves nothing: %s", call, left.Stdout)
				}
			}

			if reached["socket"] != 3 {
				t.Errorf("%d sockets; want 3: %s", reached["socket"], left.Stdout)
			}

			e.Verdicts = []api.Verdict{api.OK}
			if id == "RES-06" {
				e.Absent = nil // its first call does not end it here
			}

			e.CheckResult(t, c, open(harness.Program(probe)))
			if after := cell(); after != before || before == "" {
				t.Errorf("runs were in cells %q and %q; want one", before, after)
			}
		})
	}
}

// RES-03, RES-17: when a program starts, every other process in its cell belongs to brig and is
// root there, and its pid namespace contains only its shell; no process of the previous run is left
// to watch it.
func TestHostileNoProcessWaitsForTheNextRun(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1")
	file, name := harness.HoldProgram(t, "joining")
	residue := harness.BuildProbe(t, "residue")
	residue.Name = fmt.Sprintf("residue-waiting-%d", os.Getpid())
	enter := func(args ...string) *harness.HeldRun {
		r := api.Run{Image: "tiny", Files: []api.File{file, residue}, Argv: append([]string{name}, args...), Limits: harness.HostileLimits()}
		r.Limits.Wall = harness.Seconds(20)
		return a.StartHeldRun(t, r)
	}

	together := enter("./" + residue.Name + " >/dev/null") // the control: waiting processes, found by the same checks
	if others := foreignProcesses(t, together.Pid); len(others) < 10 {
		t.Errorf("next to what it has left itself a run has only %d others: the test proves nothing", len(others))
	}

	together.Release()

	for range 4 {
		r := harness.Program(residue)
		r.Limits = harness.HostileLimits()
		harness.WantVerdict(t, a.MustRun(t, r), api.OK)
		joined := enter()
		if left := harness.ProcessesNamed(t, "./"+residue.Name); len(left) != 0 {
			t.Errorf("of the run before there are %v", left)
		}
		if others := foreignProcesses(t, joined.Pid); len(others) != 0 {
			t.Errorf("in the cell of a run that joined there are %q", others)
		}
		joined.Release()
	}
}

// foreignProcesses lists the processes in the user namespace of pid that are neither pid nor brig's own,
// which are root of the cell.
func foreignProcesses(t testing.TB, pid int) []string {
	t.Helper()
	ns := func(p int, kind string) string {
		link, _ := os.Readlink(fmt.Sprintf("/proc/%d/ns/%s", p, kind)) // empty if it has ended
		return link
	}
	user, pids := ns(pid, "user"), ns(pid, "pid")
	var st unix.Stat_t
	if err := unix.Stat(fmt.Sprintf("/proc/%d", pid), &st); err != nil || user == "" || pids == "" {
		t.Fatalf("process %d has gone: %v", pid, err)
	}

	root := fmt.Sprintf("\nUid:\t%[1]d\t%[1]d\t%[1]d\t%[1]d\n", st.Uid-1000)
	entries, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}

	var out []string
	shells := 0
	for _, dir := range entries {
		p, err := strconv.Atoi(filepath.Base(dir))
		if err != nil || p == pid || ns(p, "user") != user {
			continue
		}
		status, err := os.ReadFile(filepath.Join(dir, "status"))
		switch {
		case err != nil: // it has ended
		case !bytes.HasPrefix(status, []byte("Name:\tcellinit\n")) || !bytes.Contains(status, []byte(root)):
			out = append(out, fmt.Sprintf("%d: %.100s", p, status))
		case ns(p, "pid") == pids:
			shells++
		}
	}

	if shells != 1 {
		out = append(out, fmt.Sprintf("%d of brig's own in its pid namespace; want the shell", shells))
	}
	return out
}

// RES-26: what a caller sent with a run is not in the memory that the shells of a cell share, neither
// while its program is alive nor later.
func TestHostileWordsOfARunAreForgotten(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1")
	file, name := harness.HoldProgram(t, "words")
	word := fmt.Sprintf("word-%d-of-a-run", os.Getpid())
	run := a.StartHeldRun(t,
		api.Run{Image: "tiny", Files: []api.File{file}, Argv: []string{name, ": " + word}, Env: map[string]string{"WORD": word},
			Limits: harness.HostileLimits()})
	if !memoryHas(t, run.Pid, word) {
		t.Error("the program's own memory lacks its arguments: the test proves nothing")
	}

	forgotten := func(when string) {
		t.Helper()
		all := a.CellProcesses(t, "cell-*")
		if len(all) == 0 { // the next shell may not have been made yet
			t.Errorf("%s no process of the cell is found", when)
		}
		for _, k := range all {
			if k.Pid != run.Pid && memoryHas(t, k.Pid, word) { // the program is in groups of the cell that have no leaves
				t.Errorf("%s a process of brig's has words of the run in its memory:\n%.200s", when, k.Status)
			}
		}
	}

	forgotten("while the program is alive,")
	run.Release()
	harness.WantVerdict(t, a.MustRun(t, harness.Sh("true")), api.OK)
	forgotten("after another run,")
}

// memoryHas reports whether a word is in the writable memory of a process; false: the process has ended.
func memoryHas(t *testing.T, pid int, word string) bool {
	t.Helper()
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return false
	}

	mem, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH) {
		return false // the process has just ended
	}
	if err != nil {
		t.Fatal(err)
	}
	defer mem.Close()

	for line := range strings.Lines(string(maps)) {
		var from, to uint64 // the last mapping is above the largest int64
		var access string
		if _, err := fmt.Sscanf(line, "%x-%x %s", &from, &to, &access); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if !strings.HasPrefix(access, "rw") {
			continue
		}

		part := make([]byte, to-from)
		n, err := mem.ReadAt(part, int64(from))
		if n == 0 && err == io.EOF {
			return false // the same
		}
		if err != nil {
			t.Fatalf("%s: read %d bytes: %v", line, n, err)
		}
		if bytes.Contains(part, []byte(word)) {
			return true
		}
	}

	return false
}

// RES-16: what a run left where the next run's inputs are placed does not redirect them.
func TestHostileInputsIgnoreThePreviousRun(t *testing.T) {
	c := harness.NewCanaries(t)
	a := harness.StartAgent(t, "--slots", "1")
	set := `cd /box; ln -s /tmp/caught link.txt; mkdir -p dir.txt/sub; echo RESIDUE > plain.txt; ln plain.txt hard.txt; ln -s /tmp deep; ln -s ` + c.File + ` host.txt; chmod 0 plain.txt; ls`
	names := []string{"link.txt", "dir.txt", "plain.txt", "hard.txt", "deep/in.txt", "host.txt"}
	control := a.MustRun(t, harness.Sh(set+"; echo input > link.txt; cat /tmp/caught"))
	harness.WantVerdict(t, control, api.OK)
	if want := "deep\ndir.txt\nhard.txt\nhost.txt\nlink.txt\nplain.txt\ninput\n"; string(control.Stdout) != want {
		t.Errorf("what was laid out catches nothing: %q; want %q", control.Stdout, want)
	}

	harness.Both(t, func(t *testing.T, mode api.Mode) {
		for i := range 4 {
			before := harness.Sh("trap '' TERM HUP; " + set +
				"; (while :; do ln -sf /tmp/caught link.txt; ln -sf /tmp/caught host.txt; done) >/dev/null 2>&1 & exit 0")
			before.Mode, before.Limits = mode, harness.HostileLimits()
			harness.WantVerdict(t, a.MustRun(t, before), api.OK)
			r := harness.Sh("for f in " + strings.Join(names, " ") +
				`; do [ -f $f ] && [ ! -L $f ] && cat $f; done; find /box /tmp -type f -o -type l | sort`)
			r.Mode, r.Limits = mode, harness.HostileLimits()
			var want strings.Builder
			for _, n := range names {
				text := fmt.Sprintf("input %d of %s\n", i, n)
				want.WriteString(text)
				r.Files = append(r.Files, api.File{Name: n, Content: api.Bytes(text)})
			}

			for _, n := range slices.Sorted(slices.Values(names)) {
				want.WriteString("/box/" + n + "\n")
			}

			res := a.MustRun(t, r)
			harness.WantVerdict(t, res, api.OK)
			if string(res.Stdout) != want.String() {
				t.Errorf("inputs and files:\n%swant\n%s%s", res.Stdout, want.String(), res.Stderr)
			}

			c.Untouched(t)
		}
	})
}

// RES-02, RES-19 and RES-20 for Python: no startup file, compiled module or package of the previous
// run is found, and compiling gives the same result again.
func TestHostilePythonFindsNothingOfThePreviousRun(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1")
	a.NeedPython(t)
	const look = `
import hashlib, importlib.util, os, py_compile, site, sys
found = [p for p in ("residue_user", "residue_beside", "residue_image") if importlib.util.find_spec(p)]
open("mod.py", "w").write("x = 1\n"); os.utime("mod.py", (1e9, 1e9))
import mod
print("RES" + "IDUE" if mod.x != 1 else "clean", found, site.getusersitepackages())
print(hashlib.sha256(open(py_compile.compile("mod.py"), "rb").read()).hexdigest())
`

	const leave = `
import os, py_compile, shutil, site, subprocess, sys
def put(path, text):
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True); open(path, "w").write(text)
    except OSError: pass
user = site.getusersitepackages()
put(user + "/usercustomize.py", "print('RESIDUE usercustomize')")
put(user + "/residue_user.py", ""); put("/box/residue_beside.py", ""); put("/box/sitecustomize.py", "print('RESIDUE sitecustomize')")
for d in sys.path[1:]: put(d + "/residue_image.py", "")
put("/box/bad.py", "x = 2\n"); os.utime("/box/bad.py", (1e9, 1e9))
os.makedirs("/box/__pycache__", exist_ok=True)
shutil.copy(py_compile.compile("/box/bad.py"), "/box/__pycache__/mod.cpython-%d%d.pyc" % sys.version_info[:2])
if len(sys.argv) > 1: print(subprocess.run([sys.executable, "/box/look.py"], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": "/box"}).stdout)
`

	looking := harness.Py(look)
	first := a.MustRun(t, looking)
	harness.WantVerdict(t, first, api.OK)
	if !strings.HasPrefix(string(first.Stdout), "clean [] ") {
		t.Fatalf("at first: %s%s", first.Stdout, first.Stderr)
	}

	control := harness.Py(leave)
	control.Argv, control.Files = []string{"there"}, []api.File{{Name: "look.py", Content: api.Bytes(look)}}
	shared := string(a.MustRun(t, control).Stdout)
	for _, want := range []string{"RESIDUE usercustomize", "RESIDUE sitecustomize", "RESIDUE ['residue_user', 'residue_beside']"} {
		if !strings.Contains(shared, want) {
			t.Errorf("in the same place nothing says %q: the test proves nothing\n%s", want, shared)
		}
	}

	harness.Both(t, func(t *testing.T, mode api.Mode) {
		before, after := harness.Py(leave), looking
		before.Mode, after.Mode = mode, mode
		harness.WantVerdict(t, a.MustRun(t, before), api.OK)
		res := a.MustRun(t, after)
		harness.WantVerdict(t, res, api.OK)
		if res.Host.Template != (mode == api.Strict) && harness.Slow(1) == 1 { // TPL-11; the slow machines may have none
			t.Errorf("it begins from a template: %t, %s", res.Host.Template, res.Host.Cold)
		}
		if !bytes.Equal(res.Stdout, first.Stdout) {
			t.Errorf("it finds\n%swant\n%s", res.Stdout, first.Stdout)
		}
	})
}

// RES-06: a profile that lets runs use keys would let them leave one in their user's persistent
// ring, which nothing seals; so its cells serve one run each. The control finds the key within one
// run.
func TestHostileKeysAreNotLeftToTheNextRun(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1")
	out, err := exec.Command(harness.Binary(t, "brig"), "profile", "show", "default", "--json").Output()
	if err != nil {
		t.Fatal(err)
	}

	text := strings.Replace(string(out), `"rules": [`,
		`"rules": [{"names": ["add_key", "keyctl"], "args": [{"arg": 0, "value": 0, "mask": 4611686018427387904}], "action": "allow", "why": "the test's"},`, 1)
	residue, looker := harness.BuildProbe(t, "residue"), harness.BuildProbe(t, "RES-06")
	keyed := func(script string) api.Result {
		r := harness.Sh(script)
		r.Files, r.ProfileRules, r.Limits = []api.File{residue, looker}, []byte(text), harness.HostileLimits()
		res := a.MustRun(t, r)
		harness.WantVerdict(t, res, api.OK)
		return res
	}
	if together := keyed("./residue keys >&2; ./RES-06"); !strings.Contains(string(together.Stdout), "key says RESIDUE") {
		t.Fatalf("a run does not find its own key: the test proves nothing\n%s\n%s", together.Stdout, together.Stderr)
	}
	if next := keyed("./RES-06"); strings.Contains(string(next.Stdout), "key says") {
		t.Errorf("the next run finds the key: %s", next.Stdout)
	}
}
