package isolation

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
	"github.com/brig-sandbox/brig/seccomp"
)

// sweepSkipped are the calls that would end, block or duplicate the probe.
var sweepSkipped = map[string]string{
	"rt_sigreturn": "takes registers from a stack that holds none", "pause": "blocks",
	"fork": "makes a second probe", "vfork": "makes a second probe", "exit": "ends the probe", "exit_group": "ends the probe",
}

// sweepUnfiltered are calls that bypass every filter, because kernels let their own probes' calls
// through (uretprobe since Linux 6.14, kernel/seccomp.c): from anywhere but a trampoline of the
// kernel the answer is SIGILL, or an error. It is never success.
var sweepUnfiltered = map[string]bool{"uretprobe": true, "uprobe": true}

// sweepInside are the kernel's answers that differ in a run from those outside, and why.
var sweepInside = map[string]struct {
	errno unix.Errno
	why   string
}{
	"kill": {unix.ESRCH, "-1 is everybody else, and in a run there is nobody; outside the signal is looked at first"},
}

// sweepNumbers returns the numbers of the native ABI, past the newest, and -1, which is no x32
// number.
func sweepNumbers() []int32 {
	list := []int32{-1}
	for nr := range int32(601) {
		list = append(list, nr)
	}
	return list
}

const x32 = 1 << 30

// sweepX32 returns the same numbers in the x32 ABI, one in step, and those at its ends.
func sweepX32(step int32) []int32 {
	list := []int32{-2, 1<<31 - 1, -1 << 31}
	for nr := int32(0); nr < 601; nr += step {
		list = append(list, nr|x32)
	}
	return list
}

// A sweep asks a filter for its answer to every number and compares it with the model's answer.
type sweep struct {
	a          *harness.Agent
	probe      api.File
	unfiltered map[int32]unix.Errno // what the kernel answers without a filter
}

// SEC-02, SEC-31: every number 0..600 and every one of the x32 ABI, under every tier, answers in a
// real run as the model says, in fresh cells and in a cell that serves run after run. What the
// model allows must get the kernel's own answer, which is that of the same probe run bare. What it
// kills ends the run, so each such number has its own run; the verdict must name it. Fresh cells
// cost more and load the same bytes (TestHostileLoadedFilter): there, on a slow machine, and in
// make test, it is one x32 number in 37 or fewer, unless BRIG_TEST_SWEEP=full, and of the numbers that are killed in
// fresh cells make test has one in four.
func TestHostileSweepOfNumbers(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1")
	s := sweep{a: a, probe: harness.BuildProbe(t, "sweep", "-nostdlib", "-s", "-Wl,-z,noseparate-code")}
	s.unfiltered = s.outside(t)
	residue := harness.BuildProbe(t, "residue")
	for _, tier := range seccomp.Tiers() {
		t.Run(tier, func(t *testing.T) {
			p, err := seccomp.Tier(tier)
			if err != nil {
				t.Fatal(err)
			}

			harness.Both(t, func(t *testing.T, mode api.Mode) {
				step := int32(1)
				switch {
				case os.Getenv("BRIG_TEST_SWEEP") == "full":
				case mode == api.Fresh && (harness.Slow(1) > 1 || !harness.Long()):
					step = 301
				case mode == api.Fresh || harness.Slow(1) > 1 || !harness.Long():
					step = 37
				}
				r := harness.Program(residue) // the next run is in the same cell, where cells are kept
				r.Profile, r.Mode, r.Limits = tier, mode, harness.HostileLimits()
				a.MustRun(t, r)
				s.under(t, p, mode, step)
			})
		})
	}
}

// under sweeps one profile in one mode.
func (s sweep) under(t *testing.T, p seccomp.Profile, mode api.Mode, step int32) {
	model := seccomp.NewModel(p)
	decide := func(nr int32) seccomp.Decision {
		all := ^uint64(0)
		return model.Decide(seccomp.Call{Nr: nr, Arch: p.Arch.OrNative().Audit(), Args: [6]uint64{all, all, all, all, all, all}})
	}
	run := func(numbers ...int32) api.Result {
		r := harness.Program(s.probe, numberArgs(numbers)...)
		r.Profile, r.Mode, r.Limits, r.Collect.None = p.Name, mode, harness.HostileLimits(), true
		return s.a.MustRun(t, r)
	}

	var together, killed, unasked []int32
	for _, nr := range append(sweepNumbers(), sweepX32(step)...) {
		switch d := decide(nr); {
		case sweepUnfiltered[d.Name]:
			unasked = append(unasked, nr)
		case d.Action == seccomp.ActKill:
			killed = append(killed, nr)
		case nr < -1 || nr >= x32:
			t.Errorf("the model answers x32 call %#x with %s", uint32(nr), d.Answer)
		case d.Action == seccomp.ActAllow && sweepSkipped[d.Name] != "":
		default:
			together = append(together, nr)
		}
	}

	res := run(together...)
	harness.WantVerdict(t, res, api.OK)
	allowed := 0
	for nr, got := range sweepAnswers(t, together, res.Stdout) {
		d := decide(nr)
		want := unix.Errno(d.Errno)
		if d.Action == seccomp.ActAllow || d.Action == seccomp.ActCount { // counted, then made
			want = s.unfiltered[nr]
			if other, ok := sweepInside[d.Name]; ok {
				want = other.errno
			}
			allowed++
		}
		if got != want {
			t.Errorf("call %d %s: %s; want %s, the model says %s", nr, d.Name, errnoName(got), errnoName(want), d.Answer)
		}
	}

	for _, nr := range unasked {
		res := run(nr)
		if res.Signal != int(unix.SIGILL) && (res.Verdict != api.OK || strings.HasSuffix(string(res.Stdout), " 0\n")) {
			t.Errorf("call %d: verdict %s, signal %d, stdout %q", nr, res.Verdict, res.Signal, res.Stdout)
		}
	}

	for n, nr := range killed {
		if mode == api.Fresh && os.Getenv("BRIG_TEST_SWEEP") != "full" && harness.LeftOut(n, 4) { // each has a cell of its own
			continue
		}
		res := run(nr)
		arch := "x86_64"
		if nr != -1 && nr&x32 != 0 {
			arch = "x32"
		}
		if d := res.Denial; res.Verdict != api.Denied || d == nil || d.Number != int(nr) || d.Arch != arch || len(res.Stdout) != 0 {
			t.Errorf("call %#x: verdict %s, denial %+v, stdout %q; the model kills", uint32(nr), res.Verdict, d, res.Stdout)
		}
	}

	t.Logf("%d numbers refused, %d allowed, %d killed", len(together)-allowed, allowed, len(killed))
}

// SEC-12: a number above all of our tables gets ENOSYS under every tier, in both modes of a
// profile, and under custom profiles that kill, log or have another error by default: a libc tries
// new calls first and falls back only on ENOSYS. Nothing is recorded for it. Because the kernel has
// no such call either, an unassigned number below the newest shows that the filter decides: it gets
// the default.
func TestHostileNewerCallsAreUnknown(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1")
	s := sweep{a: a, probe: harness.BuildProbe(t, "sweep", "-nostdlib", "-s", "-Wl,-z,noseparate-code")}
	newer := []int32{seccomp.Newest("") + 1, 600, 1024, 100_000, x32 - 1}
	const free = 400
	for nr, errno := range s.bare(t, newer) {
		if errno != unix.ENOSYS && nr != newer[0] {
			t.Errorf("bare, call %d: %s: choose a newer one", nr, errnoName(errno))
		}
	}

	own := map[string]seccomp.Answer{"kill": seccomp.Kill(), "log": {Action: seccomp.ActLog}, "other": seccomp.Fail(seccomp.ENOTTY)}
	harness.Both(t, func(t *testing.T, mode api.Mode) {
		ask := func(r api.Run, what string, def unix.Errno) {
			r.Mode, r.Limits = mode, harness.HostileLimits()
			res := a.MustRun(t, r)
			harness.WantVerdict(t, res, api.OK)
			if res.Denial != nil {
				t.Errorf("%s: denial %+v; want none", what, res.Denial)
			}

			asked := newer
			if def != 0 {
				asked = append(asked, free)
			}

			for nr, got := range sweepAnswers(t, asked, res.Stdout) {
				want := unix.ENOSYS
				if nr == free {
					want = def
				}
				if got != want {
					t.Errorf("%s: call %d: %s; want %s", what, nr, errnoName(got), errnoName(want))
				}
			}
		}

		for _, tier := range seccomp.Tiers() {
			r := harness.Program(s.probe, append(numberArgs(newer), fmt.Sprint(free))...)
			r.Profile = tier
			ask(r, tier, unix.EPERM)
			r.Argv, r.ProfileMode = r.Argv[:len(r.Argv)-1], api.Log
			ask(r, tier+" log", 0)
		}

		for name, def := range own {
			p, err := seccomp.Tier("strict")
			if err != nil {
				t.Fatal(err)
			}

			p.Name, p.Default = "strict-"+name, def
			rules, err := json.Marshal(p)
			if err != nil {
				t.Fatal(err)
			}

			r := harness.Program(s.probe, numberArgs(newer)...)
			r.ProfileRules = rules
			ask(r, p.Name, 0)
			r.Argv, r.Mode, r.Limits = append(r.Argv[:1], fmt.Sprint(free)), mode, harness.HostileLimits()
			res := a.MustRun(t, r)
			if def.Action == seccomp.ActKill {
				harness.WantVerdict(t, res, api.Denied)
				if d := res.Denial; d == nil || d.Number != free || d.Rule != "strict-kill/default" {
					t.Errorf("denial %+v; want call %d by the default", d, free)
				}
				continue
			}

			want := unix.ENOSYS // the kernel's answer, where the default is to let the call through
			if def.Action == seccomp.ActErrno {
				want = unix.Errno(def.Errno)
			}
			if got := sweepAnswers(t, []int32{free}, res.Stdout)[free]; got != want {
				t.Errorf("%s: call %d: %s; want %s", p.Name, free, errnoName(got), errnoName(want))
			}
		}
	})
}

// outside returns the kernel's own answers to every number that a tier allows or kills. Most are
// errors, for lack of sensible arguments.
func (s sweep) outside(t *testing.T) map[int32]unix.Errno {
	asked := map[int32]bool{}
	for _, tier := range seccomp.Tiers() {
		p, err := seccomp.Tier(tier)
		if err != nil {
			t.Fatal(err)
		}
		model := seccomp.NewModel(p)
		for _, nr := range sweepNumbers() {
			d := model.Decide(seccomp.Call{Nr: nr, Arch: p.Arch.OrNative().Audit()})
			if d.Action != seccomp.ActErrno && sweepSkipped[d.Name] == "" {
				asked[nr] = true
			}
		}
	}

	list := sweepX32(1)
	for nr := range asked {
		list = append(list, nr)
	}
	return s.bare(t, list)
}

// bare runs the probe without brig, as nobody and leader of a session as in a run.
func (s sweep) bare(t *testing.T, list []int32) map[int32]unix.Errno {
	t.Helper()
	dir := harness.PublicDir(t, "hostile-sweep-")
	bin := filepath.Join(dir, s.probe.Name)
	if err := os.WriteFile(bin, s.probe.Content, 0o755); err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithDeadline(t.Context(), harness.Patience())
	defer cancel()

	cmd := exec.CommandContext(ctx, bin, numberArgs(list)...)
	cmd.Dir, cmd.Env = dir, []string{}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}, Setsid: true}
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("bare: %v: the probe proves nothing\n%s", err, out)
	}
	return sweepAnswers(t, list, out)
}

// sweepAnswers parses what the probe printed; every number must have an answer.
func sweepAnswers(t *testing.T, asked []int32, out []byte) map[int32]unix.Errno {
	t.Helper()
	got := map[int32]unix.Errno{}
	for line := range bytes.Lines(out) {
		var nr int32
		var errno uint16
		if _, err := fmt.Sscan(string(line), &nr, &errno); err != nil {
			t.Fatalf("line %q: %v", line, err)
		}
		got[nr] = unix.Errno(errno)
	}

	for _, nr := range asked {
		if _, ok := got[nr]; !ok {
			t.Errorf("no answer to call %#x", uint32(nr))
		}
	}

	return got
}

func numberArgs(numbers []int32) []string {
	var list []string
	for _, nr := range numbers {
		list = append(list, fmt.Sprint(nr))
	}
	return list
}

func errnoName(e unix.Errno) string {
	if e == 0 {
		return "success"
	}
	return unix.ErrnoName(e)
}
