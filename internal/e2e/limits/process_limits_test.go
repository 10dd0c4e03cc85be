package limits

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// processLimits is a program that meets the limits of a process in the ways that its first argument names.
const processLimits = `#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
static size_t n;
static const int kinds[] = {RLIMIT_AS, RLIMIT_DATA, RLIMIT_FSIZE};
static char block[65536];
static ssize_t fill(void) { int f = open("f", O_CREAT | O_WRONLY, 0600); size_t all = 0;
  while (all < n) { ssize_t w = write(f, block, sizeof block < n - all ? sizeof block : n - all); if (w < 0) return -errno; all += w; } return all; }
static void *raise_limits(void *x) { int raised = 0;
  for (int i = 0; i < 3; i++) { struct rlimit l = {RLIM_INFINITY, RLIM_INFINITY};
    raised += !setrlimit(kinds[i], &l); raised += !prlimit(0, kinds[i], &l, 0);
    getrlimit(kinds[i], &l); l.rlim_cur = l.rlim_max; setrlimit(kinds[i], &l); }
  return (void *)(long)raised; }
static size_t mapped(void) { size_t all = 0; void *one = 0;
  for (size_t part = 64 << 20; part >= 4096; part /= 2)
    while (all < 8UL << 30 && mmap(0, part, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) != MAP_FAILED) all += part;
  one = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (one != MAP_FAILED && mremap(one, 4096, 1 << 30, MREMAP_MAYMOVE) != MAP_FAILED) all += 1 << 30;
  if (sbrk(256 << 20) != (void *)-1) all += 256 << 20;
  return all >> 20; }
static size_t largest(void) { int f = open("g", O_CREAT | O_RDWR, 0600);
  signal(SIGXFSZ, SIG_IGN); ftruncate(f, 1 << 30); posix_fallocate(f, 0, 8 << 20); lseek(f, 16 << 20, SEEK_SET); write(f, block, 1);
  int m = memfd_create("m", 0); size_t sizes = lseek(f, 0, SEEK_END);
  if (m >= 0) { ftruncate(m, 1 << 30); sizes += lseek(m, 0, SEEK_END); } return sizes; }
int main(int c, char **v) { n = c > 2 ? atol(v[2]) : 0;
  if (!strcmp(v[1], "limits")) { for (int i = 0; i < 3; i++) { struct rlimit l; getrlimit(kinds[i], &l);
    printf("%ld %d ", (long)l.rlim_cur >> 10, l.rlim_cur == l.rlim_max); } puts(""); return 0; }
  if (!strcmp(v[1], "malloc")) { char *p = malloc(n); puts(p ? "got it" : "NULL"); return 0; }
  if (!strcmp(v[1], "write")) { printf("%zd\n", fill()); return 0; }
  if (!strcmp(v[1], "ignore")) { signal(SIGXFSZ, SIG_IGN); printf("%zd\n", fill()); return 0; }
  if (!strcmp(v[1], "extend")) { printf("%d\n", ftruncate(open("f", O_CREAT | O_WRONLY, 0600), n)); return 0; }
  if (!strcmp(v[1], "child")) { int s = 0; if (!fork()) { fill(); _exit(0); } wait(&s); printf("%d\n", WIFSIGNALED(s) ? WTERMSIG(s) : 0); return 0; }
  if (!strcmp(v[1], "escape")) { pthread_t t; void *raised = 0; long all = (long)raise_limits(0);
    if (!pthread_create(&t, 0, raise_limits, 0)) { pthread_join(t, &raised); all += (long)raised; }
    if (!fork()) { raise_limits(0); char *own[] = {v[0], "grow", 0}; execv(v[0], own); _exit(9); }
    int s; wait(&s); printf("raised %ld, ended %d\n", all, s); return 0; }
  size_t m = mapped(), l = largest(); printf("mapped %s, file %s\n", m < 64 ? "little" : "much", l <= 1 << 20 ? "small" : "large"); return 0; }
`

// The limits of a process: a mapping beyond them fails, and a file beyond its size ends the program that does not
// ignore the signal. Only that is listed as a limit that was hit.
func TestLimitsOfAProcess(t *testing.T) {
	a := harness.StartCompiler(t, "--slots", "2")
	f := harness.CompileC(t, "probe", processLimits)
	const mib = "1048576"
	for _, tt := range []struct {
		name    string
		args    string
		limits  api.Limits
		verdict api.Verdict
		out     string
		hit     []string
	}{
		{"malloc without a limit", "malloc 400000000", api.Limits{}, api.OK, "got it\n", nil},
		{"malloc beyond the address space", "malloc 400000000", api.Limits{AddressSpace: 256 * api.MiB}, api.OK, "NULL\n", nil},
		{"malloc within it", "malloc 200000000", api.Limits{AddressSpace: 256 * api.MiB}, api.OK, "got it\n", nil},
		{"malloc beyond the limit on data", "malloc 400000000", api.Limits{Data: 256 * api.MiB}, api.OK, "NULL\n", nil},
		{"the smallest limits let it start", "malloc 1000", api.Limits{AddressSpace: api.MinMemory, Data: api.MiB, FileSize: api.KiB},
			api.OK, "got it\n", nil},
		{"a file of 2 MB", "write 2000000", api.Limits{}, api.OK, "2000000\n", nil},
		{"beyond the file size", "write 2000000", api.Limits{FileSize: api.MiB}, api.Signaled, "", []string{"file_size"}},
		{"of just that size", "write " + mib, api.Limits{FileSize: api.MiB}, api.OK, mib + "\n", nil},
		{"beyond it, with the signal ignored", "ignore 2000000", api.Limits{FileSize: api.MiB}, api.OK, "-27\n", nil}, // EFBIG
		{"beyond it, in a child", "child 2000000", api.Limits{FileSize: api.MiB}, api.OK, "25\n", nil},
		{"beyond it at once", "extend 2000000", api.Limits{FileSize: api.MiB}, api.Signaled, "", []string{"file_size"}},
		{"beyond scratch, which is smaller", "extend 9000000", api.Limits{FileSize: 8 * api.MiB, Scratch: 4 * api.MiB}, api.Signaled, "",
			[]string{"scratch"}},
		{"FIO-23, MEM-48: out of the limits, without any", "escape", api.Limits{}, api.OK, "mapped much, file large\n", []string{}},
		{"FIO-23, MEM-48: out of the limits", "escape", api.Limits{AddressSpace: 64 * api.MiB, Data: 60 * api.MiB, FileSize: api.MiB,
			Stack: api.MiB}, api.OK, "mapped little, file small\nraised 0, ended 0\n", []string{}},
	} {
		r := harness.Program(f, strings.Fields(tt.args)...)
		r.Limits = tt.limits.Over(api.Limits{Wall: harness.Slowly(20)})
		r.Collect.None = true
		res := a.MustRun(t, r)
		if len(tt.hit) == 0 {
			tt.hit = []string{}
		}
		if res.Verdict != tt.verdict || !strings.Contains(string(res.Stdout), tt.out) || !slices.Equal(res.LimitsHit, tt.hit) {
			t.Errorf("%s: verdict %s, hit %v; want %s, %v", tt.name, res.Verdict, res.LimitsHit, tt.verdict, tt.hit)
			t.Errorf("stdout %q; want %q; stderr %q", res.Stdout, tt.out, res.Stderr)
		}
		if tt.verdict == api.Signaled && res.SignalName != "SIGXFSZ" {
			t.Errorf("%s: the signal is %q", tt.name, res.SignalName)
		}
	}

	large := harness.Program(harness.CompileC(t, "large", "static char all[1 << 30]; int main(void) { all[0] = 1; return 0; }"))
	harness.WantVerdict(t, a.MustRun(t, large), api.OK)
	large.Limits.AddressSpace = 256 * api.MiB
	harness.WantVerdict(t, a.MustRun(t, large), api.Signaled) // by the kernel, before its first line

	testPlacesOfProcessLimits(t, a, f)
}

// Every stage of a run, and every other way to execute a program, has the limits of a process.
func testPlacesOfProcessLimits(t *testing.T, a *harness.Agent, f api.File) {
	limits := api.Limits{AddressSpace: 1100 * api.MiB, Data: 1000 * api.MiB, FileSize: 3 * api.MiB}
	const want = "1126400 1 1024000 1 3072 1"
	check := func(where, got string) {
		t.Helper()
		if strings.TrimSpace(got) != want {
			t.Errorf("%s has the limits %q; want %q", where, got, want)
		}
	}

	r := harness.Program(f, "limits")
	r.Limits = limits
	for _, mode := range []api.Mode{api.Strict, api.Fresh, api.Exclusive} {
		r.Mode = mode
		check("a run in mode "+string(mode), string(a.MustRun(t, r).Stdout))
	}

	r.Mode, r.Limits = "", api.Limits{FileSize: limits.FileSize}
	r.Tests = []api.Test{{ID: "1", Limits: api.Limits{AddressSpace: limits.AddressSpace, Data: limits.Data}}}
	check("a test, which has some of its own", string(a.MustRun(t, r).Tests[0].Result.Stdout))

	made := harness.CompiledRun(harness.Uncached(t, `./probe limits >&2; printf '#!/bin/sh\n./probe limits' >main; chmod +x main; mkdir lib; : >lib/x`))
	made.Files, made.Limits, made.CompileLimits = []api.File{f}, limits, limits
	res := a.MustRun(t, made)
	if check("a run of a compiled program", string(res.Stdout)); res.Compile == nil {
		t.Fatalf("nothing was compiled: %+v", res)
	}
	check("a compiler", string(res.Compile.Stderr))
	made.CompileLimits.FileSize--
	if res = a.MustRun(t, made); res.Compile == nil || res.Compile.Cached {
		t.Errorf("the artifact of a compiler with larger limits is taken: %+v", res.Compile)
	}

	s := a.NewSession(t, func(s *api.SessionRequest) { s.ExecLimits = limits })
	if err := a.PutFile(t.Context(), s.ID, "probe", bytes.NewReader(f.Content), true); err != nil {
		t.Fatal(err)
	}

	check("an exec", string(a.MustExec(t, s.ID, api.Exec{Argv: []string{"./probe", "limits"}}).Stdout))
	less := a.MustExec(t, s.ID, api.Exec{Argv: []string{"./probe", "limits"}, Limits: api.Limits{FileSize: api.MiB}})
	if got, want := string(less.Stdout), strings.Replace(want, "3072", "1024", 1); strings.TrimSpace(got) != want {
		t.Errorf("an exec with a limit of its own has %q; want %q", got, want)
	}

	r = harness.Program(f, "limits")
	r.Limits = limits
	job, err := json.Marshal(api.Job{ID: "j", Run: r})
	if err != nil {
		t.Fatal(err)
	}
	for _, res := range a.RunBatch(t, job) {
		if res.Result == nil {
			t.Fatalf("the job: %+v", res)
		}
		check("a job", string(res.Result.Stdout))
	}
}
