package neighbours

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// usageProgram uses less memory than the shells of a cell share, and prints its ru_maxrss.
const usageProgram = `static long sys(long n, long a, long b, long c) {
  long r; __asm__ volatile("syscall" : "=a"(r) : "a"(n), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory"); return r; }
__attribute__((used)) void start(void) {
  long usage[18]; char b[24]; int i = 24;
  sys(98, 0, (long)usage, 0); /* getrusage */
  do b[--i] = '0' + usage[4] % 10; while (usage[4] /= 10);
  sys(1, 1, (long)(b + i), 24 - i);
  sys(231, 0, 0, 0); }
__asm__(".globl _start\n_start: and $-16, %rsp\n call start\n");`

// manyArguments are about as many bytes as a run may have.
func manyArguments() []string {
	return strings.Fields(strings.Repeat(strings.Repeat("x", 999)+" ", 100))
}

// RES-27: a program does not learn from its resource usage how large the arguments of an earlier run of
// its cell were. The kernel counts what the process that it was cloned from had in memory.
func TestHostileUsageTellsNothingOfEarlierRuns(t *testing.T) {
	flags := []string{"-static", "-nostdlib", "-O1", "-ffreestanding", "-fno-stack-protector", "-fno-pic", "-no-pie",
		"-mgeneral-regs-only", "-w"}
	f := api.File{Name: "usage", Content: harness.CompileBinary(t, usageProgram, flags...), Executable: true}
	a := harness.StartAgent(t, "--slots", "1")
	maxRSS := func(args ...string) string {
		t.Helper()
		res := a.MustRun(t, harness.Program(f, args...))
		harness.WantVerdict(t, res, api.OK)
		return string(res.Stdout)
	}

	before := maxRSS()
	cell := cellinitOf(t, a)
	for range 3 { // each part of the memory that shells use
		maxRSS(manyArguments()...)
	}

	if after := maxRSS(); after != before {
		t.Errorf("ru_maxrss of the same program is %s KiB, and %s KiB after runs with large arguments", before, after)
	}
	if now := cellinitOf(t, a); now != cell {
		t.Errorf("the cell is another one: cellinit was process %d, now it is %d: the test proves nothing", cell, now)
	}
}

// MEM-47: a run that is out of memory, also while its program is being executed, takes only its own
// processes along: not those that share memory with the process that became the program.
func TestHostileOutOfMemoryLeavesTheCell(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1")
	hog := harness.CompileC(t, "hog", `#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(void) { fork(); fork(); size_t n = 16 << 20; char *p = malloc(n); memset(p, 1, n); return p[n-1] != 1; }`)
	run := func(memory api.Size, args ...string) api.Run {
		r := harness.Program(hog, args...)
		r.Limits = api.Limits{Memory: memory, Wall: harness.Slowly(20)}
		return r
	}

	harness.WantVerdict(t, a.MustRun(t, harness.Sh("true")), api.OK)
	cell := cellinitOf(t, a)
	for i := range 8 {
		harness.WantVerdict(t, a.MustRun(t, run(api.MinMemory)), api.MemoryLimit)
		harness.WantVerdict(t, a.MustRun(t, run(api.MinMemory+api.Size(i)*api.MiB, manyArguments()...)), api.MemoryLimit)
	}

	if now := cellinitOf(t, a); now != cell {
		t.Errorf("cellinit was process %d, and is %d after runs that had too little memory\n%s", cell, now, a.Log)
	}
}

// RES-26: this holds also for a run that is canceled before its program begins, and for the names that
// are tried in PATH.
func TestHostileWordsOfACanceledRunAreForgotten(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1")
	word := fmt.Sprintf("word-%d-of-a-canceled-run", os.Getpid())
	r := api.Run{Image: "tiny", Argv: []string{"true", word},
		Env: map[string]string{"PATH": "/a-directory-without-programs/" + word + ":/bin"}, Limits: harness.HostileLimits()}
	harness.WantVerdict(t, a.MustRun(t, r), api.OK)
	began := time.Now()
	harness.WantVerdict(t, a.MustRun(t, r), api.OK)
	whole := time.Since(began)
	for i := range 40 {
		ctx, cancel := context.WithTimeout(t.Context(), whole*time.Duration(i)/40)
		_, _ = a.Client.Run(ctx, r) // either result will do
		cancel()
	}

	a.WaitIdle(t)
	for range 2 { // a new shell is made after each, before which cellinit clears what others left
		harness.WantVerdict(t, a.MustRun(t, harness.Sh("true")), api.OK)
	}

	all := a.CellProcesses(t, "cell-*")
	if len(all) == 0 {
		t.Error("no process of the cell is found")
	}

	for _, p := range all {
		if memoryHas(t, p.Pid, word) {
			t.Errorf("a process of brig's has words of an earlier run in its memory:\n%.200s", p.Status)
		}
	}
}

// cellinitOf waits for PID 1 of the only cell.
func cellinitOf(t *testing.T, a *harness.Agent) int {
	t.Helper()
	for deadline := harness.Patience(); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		for _, p := range a.CellProcesses(t, "cell-*") {
			for line := range strings.Lines(p.Status) {
				if ids := strings.Fields(line); ids[0] == "NSpid:" && len(ids) == 3 && ids[2] == "1" {
					return p.Pid
				}
			}
		}
	}
	t.Fatal("no cellinit is found")
	return 0
}
