package neighbours

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// CPU-16: a program under managed may bind its own threads to processors. It never leaves its run's
// processors, and three processes that bind themselves get no more than the run's share. The control is
// a run with both processors, where the same call has an effect.
func TestHostileAffinityStaysInTheRunsProcessors(t *testing.T) {
	if runtime.NumCPU() < 2 {
		t.Skip("one processor cannot be divided") // the test cannot run here
	}

	a := harness.StartAgent(t, "--slots", "1")
	bind := harness.CompileC(t, "bind", `
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int argc, char **argv) {
	unsigned long mask = strtoul(argv[1], 0, 16), now = 0;
	int failed = syscall(SYS_sched_setaffinity, 0, sizeof mask, &mask);
	syscall(SYS_sched_getaffinity, 0, sizeof now, &now);
	printf("%d %lx", failed, now);
	fflush(stdout);
	for (int i = 2; i < argc; i++)
		if (fork() == 0) for (;;) ;
	for (; argc > 2;) ;
}`)

	bound := func(mask string, l api.Limits, spinners ...string) api.Result {
		r := harness.Program(bind, append([]string{mask}, spinners...)...)
		r.Profile, r.Limits = "managed", l
		return a.MustRun(t, r)
	}

	allowed := strings.Fields(string(bound("ffffffff", api.Limits{Cpuset: "1", CPUs: 1}).Stdout))
	if fmt.Sprint(allowed) != "[0 2]" {
		t.Errorf("a run on processor 1 bound itself to all of them: failed and mask are %s; want 0 and 2", allowed)
	}
	if got := string(bound("1", api.Limits{Cpuset: "1", CPUs: 1}).Stdout); got != "-1 2" {
		t.Errorf("a run on processor 1 bound itself to processor 0: failed and mask are %q; want -1 and 2", got)
	}
	if got := string(bound("1", api.Limits{Cpuset: "0-1", CPUs: 2}).Stdout); got != "0 1" {
		t.Errorf("control: a run on both processors bound itself to processor 0: failed and mask are %q; want 0 and 1", got)
	}

	res := bound("1", api.Limits{Wall: harness.Seconds(1), CPUs: 1, CPU: harness.Seconds(20), Cpuset: "0-1"}, "a", "b", "c")
	harness.WantVerdict(t, res, api.WallLimit)
	if share := float64(*res.Usage.CPU.Value) / float64(res.Timing.Wall); share > 1.15 {
		t.Errorf("cpus 1 gave a share of %.2f to processes that bound themselves", share)
	}
}

// CPU-17: barriers of a program under managed interrupt the processors of its own run alone, and are
// paid by the run: it ends by its cpu limit. The control is a run with both processors, whose other
// thread is interrupted.
func TestHostileBarriersAreTheRunsOwn(t *testing.T) {
	if runtime.NumCPU() < 2 {
		t.Skip("one processor cannot be divided") // the test cannot run here
	}

	a := harness.StartAgent(t, "--slots", "1")
	storm := stormProgram(t, "storm")
	interrupts := func(l api.Limits) int64 {
		r := harness.Program(storm, "private")
		r.Profile, r.Limits, r.Collect.None = "managed", l, true
		before := callInterrupts(t, 1)
		harness.WantVerdict(t, a.MustRun(t, r), api.CPULimit)
		return callInterrupts(t, 1) - before
	}

	// On a busy host the two threads seldom run at the same time, and are seldom interrupted.
	var alone, both int64
	for try := 0; try < 10 && both < 10*alone+50; try++ {
		alone = interrupts(api.Limits{Cpuset: "0", CPUs: 1, CPU: harness.Seconds(0.5)})
		both = interrupts(api.Limits{Cpuset: "0-1", CPUs: 2, CPU: harness.Seconds(0.5)})
	}

	t.Logf("function call interrupts of processor 1: %d next to a run on processor 0, %d of a run on both", alone, both)
	if both < 10*alone+50 {
		t.Errorf("barriers of a run on processor 0 made %d interrupts of processor 1, next to %d of a run on both", alone, both)
	}
}

// callInterrupts returns the number of function call interrupts of a processor: the line CAL of
// /proc/interrupts (amd64), which membarrier's barriers are, too.
func callInterrupts(t *testing.T, processor int) int64 {
	t.Helper()
	text, err := os.ReadFile("/proc/interrupts")
	if err != nil {
		t.Fatal(err)
	}

	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > processor+1 && f[0] == "CAL:" {
			n, err := strconv.ParseInt(f[processor+1], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}

	t.Skip("this machine's /proc/interrupts has no line CAL") // another architecture
	return 0
}
