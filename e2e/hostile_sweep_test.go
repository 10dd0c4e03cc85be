package e2e

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/seccomp"
)

// sweepSkipped are the allowed calls that would end or block the probe, or make a
// second one of it.
var sweepSkipped = map[string]string{
	"rt_sigreturn": "takes registers from a stack that holds none", "pause": "blocks",
	"fork": "makes a second probe", "vfork": "makes a second probe", "exit": "ends the probe", "exit_group": "ends the probe",
}

// SEC-01, SEC-02: every number 0..600, and with the bit of the x32 ABI, under every
// tier, answers in a real run as the model says. Calls the model kills end the run,
// so each has a run of its own; the verdict must name its number.
func TestHostileSweepOfNumbers(t *testing.T) {
	a := startAgent(t)
	probe := buildProbe(t, "sweep")
	full := os.Getenv("BRIG_TEST_SWEEP") == "full" // else one x32 number in 37, each of which costs a run
	for _, tier := range seccomp.Tiers() {
		t.Run(tier, func(t *testing.T) {
			p, err := seccomp.Tier(tier)
			if err != nil {
				t.Fatal(err)
			}
			model := seccomp.NewModel(p)
			decide := func(nr int32) seccomp.Decision {
				all := ^uint64(0)
				return model.Decide(seccomp.Call{Nr: nr, Arch: p.Arch.Or().Audit(), Args: [6]uint64{all, all, all, all, all, all}})
			}
			run := func(args ...string) api.Result {
				r := program(probe, args...)
				r.Profile, r.Limits, r.Collect.None = tier, hostileLimits(), true
				return a.run(t, r)
			}
			var together, unasked []string
			var killed []int32
			for nr := range int32(601) {
				d := decide(nr)
				switch {
				case d.Name == "uretprobe" || d.Name == "uprobe":
					unasked = append(unasked, fmt.Sprint(nr))
				case d.Action == seccomp.ActKill:
					killed = append(killed, nr)
				case d.Action == seccomp.ActAllow && sweepSkipped[d.Name] != "":
				default:
					together = append(together, fmt.Sprint(nr))
				}
				const x32 = 1 << 30
				if d := decide(nr | x32); d.Action != seccomp.ActKill {
					t.Errorf("the model answers x32 call %d with %s", nr, d.Answer)
				}
				if full || nr%37 == 0 {
					killed = append(killed, nr|x32)
				}
			}
			res := run(together...)
			wantVerdict(t, res, api.OK)
			lines := strings.Split(strings.TrimSpace(string(res.Stdout)), "\n")
			if len(lines) != len(together) {
				t.Fatalf("%d answers to %d calls", len(lines), len(together))
			}
			for _, line := range lines {
				var nr int32
				var got int
				if _, err := fmt.Sscan(line, &nr, &got); err != nil {
					t.Fatalf("line %q: %v", line, err)
				}
				if d := decide(nr); d.Action == seccomp.ActErrno && got != int(d.Errno) {
					t.Errorf("call %d %s: %s; the model says %s", nr, d.Name, unix.ErrnoName(unix.Errno(got)), d.Errno)
				} else if d.Action == seccomp.ActAllow && got == int(unix.EPERM) && d.Name != "setsid" { // EPERM is the kernel's own answer to a group's leader
					t.Errorf("call %d %s: EPERM; the model lets it reach the kernel", nr, d.Name)
				}
			}
			// Kernels pass their own probes' calls by every filter (uretprobe since
			// Linux 6.14, kernel/seccomp.c): from anywhere but a trampoline of
			// theirs the answer is SIGILL, or an error. Never success.
			for _, nr := range unasked {
				res := run(nr)
				if res.Signal != int(unix.SIGILL) && (res.Verdict != api.OK || strings.HasSuffix(string(res.Stdout), " 0\n")) {
					t.Errorf("call %s: verdict %s, signal %d, stdout %q", nr, res.Verdict, res.Signal, res.Stdout)
				}
			}
			for _, nr := range killed {
				res := run(fmt.Sprint(nr))
				if res.Verdict != api.Denied || res.Denial == nil || len(res.Stdout) != 0 {
					t.Errorf("call %#x: verdict %s, denial %+v, stdout %q; the model kills", nr, res.Verdict, res.Denial, res.Stdout)
				}
			}
		})
	}
}
