package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/testenv"
)

// Whatever a program's memory is used for, exceeding the limit is memory-limit: before exec has
// finished, in shared mappings, in files, in the kernel's own objects.
func TestMemoryIsMemoryWhereverItGoes(t *testing.T) {
	a := startAgent(t)
	large := compileC(t, "large", `static char data[9 << 20] = {1};
int main(void) { long s = 0; for (long i = 0; i < sizeof data; i += 4096) { data[i]++; s += data[i]; } return s == 0; }`)
	shared := compileC(t, "shared", `#include <string.h>
#include <sys/mman.h>
int main(void) { char *p = mmap(0, 64 << 20, PROT_READ|PROT_WRITE, MAP_SHARED|MAP_ANONYMOUS, -1, 0); memset(p, 1, 64 << 20); return p[7] != 1; }`)
	memfd := compileC(t, "memfd", `#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
int main(void) { static char b[1 << 20]; int f = memfd_create("x", 0); if (f < 0) return 9; for (int i = 0; i < 64; i++) if (write(f, b, sizeof b) < 0) return 8; return 0; }`)

	pipes := compileC(t, "pipes", `#define _GNU_SOURCE
#include <fcntl.h>
#include <unistd.h>
int main(void) { static char b[65536]; int p[2]; for (int i = 0; i < 100; i++) { if (pipe2(p, O_NONBLOCK)) return 3; while (write(p[1], b, sizeof b) > 0); } return 0; }`)
	for _, tt := range []struct {
		name   string
		run    api.Run
		memory api.Size
		want   []api.Verdict
	}{
		{"a large program", program(large), 8 * api.MiB, []api.Verdict{api.MemoryLimit}},
		{"a large program within the least limit of all", program(large), api.MinMemory, []api.Verdict{api.MemoryLimit}},
		{"shared memory", program(shared), 16 * api.MiB, []api.Verdict{api.MemoryLimit}},
		{"files in /dev/shm", sh("head -c 60000000 /dev/zero > /dev/shm/x"), 16 * api.MiB, []api.Verdict{api.MemoryLimit}},
		{"files in /box and /tmp together", sh("head -c 12000000 /dev/zero > /tmp/x; head -c 12000000 /dev/zero > /box/x"), 16 * api.MiB,
			[]api.Verdict{api.MemoryLimit}},
		// memfd may be answered with an errno, which is no memory at all.
		{"memfd", program(memfd), 16 * api.MiB, []api.Verdict{api.MemoryLimit, api.Nonzero, api.Denied}},
		{"pipes full of data", program(pipes), api.MinMemory, []api.Verdict{api.MemoryLimit}},
		{"an interpreter in the least limit", sh("exit 0"), api.MinMemory, []api.Verdict{api.OK}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			both(t, func(t *testing.T, mode api.Mode) {
				r := tt.run
				r.Mode, r.Collect.None = mode, true
				r.Limits = api.Limits{Memory: tt.memory, Wall: slowly(30), Pids: 20}
				res := a.run(t, r)
				if !slices.Contains(tt.want, res.Verdict) {
					wantVerdict(t, res, tt.want[0])
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
	a := startAgent(t)
	a.needPython(t)

	for _, memory := range []api.Size{api.MinMemory, 8 * api.MiB, 32 * api.MiB, 100 * api.MiB} {
		r := py("x = []\nwhile True: x.append(bytearray(1 << 20))")
		r.Limits = api.Limits{Memory: memory, Wall: seconds(30)}
		if memory == api.MinMemory {
			r.Limits.Wall = seconds(5) // usually reached
		}

		res := a.run(t, r)
		if memory == api.MinMemory && res.Verdict == api.WallLimit {
			continue // its own pages are evicted and read again so often that it makes no progress (MEM-19)
		}

		wantVerdict(t, res, api.MemoryLimit)
		if !slices.Contains(res.LimitsHit, api.HitMemory) {
			t.Errorf("memory %s: limits_hit %v", memory, res.LimitsHit)
		}
	}
}

// Memory exhaustion in a group above the run's own is not the program's fault: it is brig's error,
// and safe to retry.
func TestMemoryAboveTheRunIsOurError(t *testing.T) {
	testenv.NeedRoot(t)
	data := dataDir(t)
	dir := publicDir(t, "brig-e2e-")
	hog := compileC(t, "hog", `#include <stdlib.h>
#include <string.h>
int main(int c, char **v) { size_t n = atol(v[1]) << 20; char *p = malloc(n); memset(p, 1, n); return p[n-1] != 1; }`)
	testenv.CleanHost(t)
	group := memoryGroup(t, 200<<20)

	// The agent starts in the group, so its groups are below it.
	a := launchAfter(t, dir, data, func(pid int) { join(t, group, pid) })
	t.Cleanup(a.stop)
	r := program(hog, "300")
	r.Limits.Memory = 512 * api.MiB
	e := a.refused(t, r, api.CodeHostMemory)
	if !e.RetrySafe || e.Message == "" {
		t.Errorf("%q (retry-safe %v): want one that may be sent again", e.Message, e.RetrySafe)
	}

	r = program(hog, "20")
	wantVerdict(t, a.run(t, r), api.OK)
	r = program(hog, "60")
	r.Limits.Memory = 32 * api.MiB
	wantVerdict(t, a.run(t, r), api.MemoryLimit)
}

// A memGroup is a group of the memory controller's hierarchy.
type memGroup struct {
	mount, path string
	unified     bool
}

func (g memGroup) dir() string { return filepath.Join(g.mount, g.path) }

// home is the group of the same hierarchy that /proc/self/cgroup named before.
func (g memGroup) home(table string) memGroup {
	g.path = ownGroup(table, g.unified)
	return g
}

func ownGroup(table string, unified bool) string {
	for line := range strings.Lines(table) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(f) == 3 && (unified && f[0] == "0" || !unified && slices.Contains(strings.Split(f[1], ","), "memory")) {
			return f[2]
		}
	}
	return "/"
}

// memoryHierarchy finds the hierarchy of the memory controller.
func memoryHierarchy(t *testing.T) memGroup {
	t.Helper()
	g := memGroup{mount: "/sys/fs/cgroup", unified: true}
	mounts, err := mountinfo.GetMounts(mountinfo.FSTypeFilter("cgroup"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range mounts {
		if slices.Contains(strings.Split(m.VFSOptions, ","), "memory") {
			g.mount, g.unified = m.Mountpoint, false
		}
	}
	return g
}

// memoryGroup creates a group with a limit below this process's own group.
func memoryGroup(t *testing.T, size int64) memGroup {
	t.Helper()
	g, limit := memoryHierarchy(t), "memory.max"
	if !g.unified {
		limit = "memory.limit_in_bytes"
	}

	table, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		t.Fatal(err)
	}

	own := g.home(string(table))
	if g.unified && own.path != "/" {
		own.path = filepath.Dir(own.path) // a group with processes passes no controller on
	}

	g.path = filepath.Join(own.path, fmt.Sprintf("above-%d", os.Getpid()))
	if err := os.Mkdir(g.dir(), 0o755); err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		if err := unix.Rmdir(g.dir()); err != nil {
			t.Errorf("remove %s: %v", g.dir(), err)
		}
	})

	write := func(file, value string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(g.dir(), file), []byte(value), 0); err != nil {
			t.Fatal(err)
		}
	}

	if !g.unified {
		write("memory.swappiness", "0")
	}

	write(limit, fmt.Sprint(size))
	return g
}

func join(t *testing.T, g memGroup, pid int) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(g.dir(), "cgroup.procs"), fmt.Append(nil, pid), 0); err != nil {
		t.Fatal(err)
	}
}
