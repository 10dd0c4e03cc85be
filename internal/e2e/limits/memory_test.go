package limits

import (
	"slices"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
	"github.com/brig-sandbox/brig/internal/testenv"
)

// Whatever a program's memory is used for, exceeding the limit is memory-limit: before exec has
// finished, in shared mappings, in files, in the kernel's own objects.
func TestMemoryIsMemoryWhereverItGoes(t *testing.T) {
	a := harness.StartAgent(t)
	large := harness.CompileC(t, "large", `static char data[9 << 20] = {1};
int main(void) { long s = 0; for (long i = 0; i < sizeof data; i += 4096) { data[i]++; s += data[i]; } return s == 0; }`)
	shared := harness.CompileC(t, "shared", `#include <string.h>
#include <sys/mman.h>
int main(void) { char *p = mmap(0, 64 << 20, PROT_READ|PROT_WRITE, MAP_SHARED|MAP_ANONYMOUS, -1, 0); memset(p, 1, 64 << 20); return p[7] != 1; }`)
	memfd := harness.CompileC(t, "memfd", `#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
int main(void) { static char b[1 << 20]; int f = memfd_create("x", 0); if (f < 0) return 9; for (int i = 0; i < 64; i++) if (write(f, b, sizeof b) < 0) return 8; return 0; }`)

	pipes := harness.CompileC(t, "pipes", `#define _GNU_SOURCE
#include <fcntl.h>
#include <unistd.h>
int main(void) { static char b[65536]; int p[2]; for (int i = 0; i < 100; i++) { if (pipe2(p, O_NONBLOCK)) return 3; while (write(p[1], b, sizeof b) > 0); } return 0; }`)
	for _, tt := range []struct {
		name   string
		run    api.Run
		memory api.Size
		want   []api.Verdict
	}{
		{"a large program", harness.Program(large), 8 * api.MiB, []api.Verdict{api.MemoryLimit}},
		{"a large program within the least limit of all", harness.Program(large), api.MinMemory, []api.Verdict{api.MemoryLimit}},
		{"shared memory", harness.Program(shared), 16 * api.MiB, []api.Verdict{api.MemoryLimit}},
		{"files in /dev/shm", harness.Sh("head -c 60000000 /dev/zero > /dev/shm/x"), 16 * api.MiB, []api.Verdict{api.MemoryLimit}},
		{"files in /box and /tmp together", harness.Sh("head -c 12000000 /dev/zero > /tmp/x; head -c 12000000 /dev/zero > /box/x"), 16 * api.MiB,
			[]api.Verdict{api.MemoryLimit}},
		// memfd may be answered with an errno, which is no memory at all.
		{"memfd", harness.Program(memfd), 16 * api.MiB, []api.Verdict{api.MemoryLimit, api.Nonzero, api.Denied}},
		{"pipes full of data", harness.Program(pipes), api.MinMemory, []api.Verdict{api.MemoryLimit}},
		{"an interpreter in the least limit", harness.Sh("exit 0"), api.MinMemory, []api.Verdict{api.OK}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			harness.Both(t, func(t *testing.T, mode api.Mode) {
				r := tt.run
				r.Mode, r.Collect.None = mode, true
				r.Limits = api.Limits{Memory: tt.memory, Wall: harness.Slowly(30), Pids: 20}
				res := a.MustRun(t, r)
				if !slices.Contains(tt.want, res.Verdict) {
					harness.WantVerdict(t, res, tt.want[0])
				}
				if slices.Contains(res.LimitsHit, api.HitMemory) != (res.Verdict == api.MemoryLimit) {
					t.Errorf("verdict %s with limits_hit %v", res.Verdict, res.LimitsHit)
				}
			})
		})
	}
}

// A Python process that is out of memory reaches the limit at every size, also where it never gets
// to its program.
func TestPythonOutOfMemory(t *testing.T) {
	a := harness.StartAgent(t)
	a.NeedPython(t)

	for _, memory := range []api.Size{api.MinMemory, 8 * api.MiB, 32 * api.MiB, 100 * api.MiB} {
		r := harness.Py("x = []\nwhile True: x.append(bytearray(1 << 20))")
		r.Limits = api.Limits{Memory: memory, Wall: harness.Seconds(30)}
		if memory == api.MinMemory {
			r.Limits.Wall = harness.Seconds(5) // usually reached
		}

		res := a.MustRun(t, r)
		if memory == api.MinMemory && res.Verdict == api.WallLimit {
			continue // its own pages are evicted and read again so often that it makes no progress (MEM-19)
		}

		harness.WantVerdict(t, res, api.MemoryLimit)
		if !slices.Contains(res.LimitsHit, api.HitMemory) {
			t.Errorf("memory %s: limits_hit %v", memory, res.LimitsHit)
		}
	}
}

// Memory exhaustion in a group above the run's own is not the program's fault: it is brig's error,
// and safe to retry.
func TestMemoryAboveTheRunIsOurError(t *testing.T) {
	testenv.NeedRoot(t)
	data := harness.DataDir(t)
	dir := harness.PublicDir(t, "brig-e2e-")
	hog := harness.CompileC(t, "hog", `#include <stdlib.h>
#include <string.h>
int main(int c, char **v) { size_t n = atol(v[1]) << 20; char *p = malloc(n); memset(p, 1, n); return p[n-1] != 1; }`)
	testenv.CleanHost(t)
	group := harness.MemoryGroup(t, 200<<20)

	// The agent starts in the group, so its groups are below it.
	a := harness.LaunchAfter(t, dir, data, func(pid int) { harness.Join(t, group, pid) }, "--max-wall", "10m", "--max-cpu", "10m")
	t.Cleanup(a.Stop)
	r := harness.Program(hog, "300")
	// A machine in software takes long to find no memory: the kernel's search is the program's processor time.
	r.Limits = api.Limits{Memory: 512 * api.MiB, Wall: harness.Slowly(30), CPU: harness.Slowly(30)}
	e := a.Refused(t, r, api.CodeHostMemory)
	if !e.RetrySafe || e.Message == "" {
		t.Errorf("%q (retry-safe %v): want one that may be sent again", e.Message, e.RetrySafe)
	}

	r = harness.Program(hog, "20")
	harness.WantVerdict(t, a.MustRun(t, r), api.OK)
	r = harness.Program(hog, "60")
	r.Limits.Memory = 32 * api.MiB
	harness.WantVerdict(t, a.MustRun(t, r), api.MemoryLimit)
}
