package isolation

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// memoryTaker uses a file of /box as memory, through a shared mapping, and additionally takes the given
// number of MiB.
const memoryTaker = `#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
int main(int c, char **v) {
  struct stat st;
  int fd = open("/box/big", O_RDWR);
  if (fd < 0 || fstat(fd, &st)) { perror("big"); return 1; }
  unsigned char *p = mmap(0, st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (p == MAP_FAILED) { perror("mmap"); return 1; }
  for (long i = 0; i < st.st_size; i += 64) p[i] = i >> 6;
  long n = atol(v[1]) << 20;
  char *q = malloc(n);
  memset(q, 1, n);
  for (long i = 0; i < st.st_size; i += 64) if (p[i] != (unsigned char)(i >> 6)) return 2;
  printf("used %ld and %ld MiB\n", st.st_size >> 20, n >> 20);
  return q[n / 2] != 1;
}`

// MEM-19: the files that are placed into a run and that it may write to count as memory within its
// limit and in its measurement. With a limit that is large enough for both the same program ends
// well.
func TestHostileInputsAreMemory(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1", "--max-wall", "10m", "--max-cpu", "10m")
	use := harness.CompileC(t, "use", memoryTaker)
	big := api.File{Name: "big", Content: bytes.Repeat([]byte("x"), 40<<20)}
	r := harness.Program(use, "30")
	r.Files = append(r.Files, big)
	r.Collect.None = true
	harness.Both(t, func(t *testing.T, mode api.Mode) {
		r := r
		r.Mode = mode
		r.Limits = api.Limits{Memory: 64 * api.MiB}
		harness.WantVerdict(t, a.MustRun(t, r), api.MemoryLimit)
		r.Limits.Memory = 128 * api.MiB
		res := a.MustRun(t, r)
		harness.WantVerdict(t, res, api.OK)
		if used := *res.Usage.Memory.Value; used < 70<<20 || used > 80<<20 {
			t.Errorf("a program that uses 70 MiB has a figure of %d", used)
		}

		r.Limits.Memory = 24 * api.MiB
		if e := a.Refused(t, r, api.CodeBadFile); !strings.Contains(e.Message, "limits.memory is 24M") {
			t.Errorf("refused with %q", e.Message)
		}

		r.Limits.Memory, r.Tests = 128*api.MiB, []api.Test{{Args: []string{}, Limits: api.Limits{Memory: 64 * api.MiB}}}
		if res := a.MustRun(t, r); res.Tests[0].Result.Verdict != api.MemoryLimit {
			t.Errorf("a test with less memory: %s", res.Tests[0].Result.Verdict)
		}
	})
}

// MEM-19, in a session: files that are put count against its memory as long as they, or as much of
// other files, are in the scratch.
func TestHostileFilesPutAreMemory(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1", "--max-wall", "10m", "--max-cpu", "10m")
	use := harness.CompileC(t, "use", memoryTaker)
	session := func(memory api.Size) string {
		s := a.NewSession(t, func(s *api.SessionRequest) { s.Limits = api.Limits{Memory: memory, Scratch: 128 * api.MiB} })
		if err := a.PutFile(t.Context(), s.ID, "use", bytes.NewReader(use.Content), true); err != nil {
			t.Fatal(err)
		}
		return s.ID
	}

	put := func(id string, mib int) error {
		return a.PutFile(t.Context(), id, "big", bytes.NewReader(bytes.Repeat([]byte("x"), mib<<20)), false)
	}
	small, large := session(64*api.MiB), session(128*api.MiB)
	for _, id := range []string{small, large} {
		if err := put(id, 40); err != nil {
			t.Fatal(err)
		}
	}

	take := api.Exec{Argv: []string{"./use", "30"}}
	harness.WantVerdict(t, a.MustExec(t, small, take), api.MemoryLimit)
	harness.WantVerdict(t, a.MustExec(t, large, take), api.OK)
	s, err := a.Session(t.Context(), large)
	if err != nil {
		t.Fatal(err)
	}
	if peak := *s.Usage.MemoryPeak.Value; peak < 70<<20 || peak > 84<<20 {
		t.Errorf("a session that has used 70 MiB tells a peak of %d", peak)
	}

	harness.WantCode(t, put(small, 62), api.CodeTooLarge)

	// Removed files free memory again, from the next exec on; so the session stays usable.
	a.Shell(t, small, "rm big")
	harness.WantVerdict(t, a.Shell(t, small, "head -c 40000000 /dev/zero >other; cat other >/dev/null"), api.OK)
	a.Shell(t, small, "rm other")
	if err := put(small, 30); err != nil {
		t.Errorf("a file that fits: %v", err)
	}

	harness.WantVerdict(t, a.MustExec(t, small, api.Exec{Argv: []string{"./use", "16"}}), api.OK)
}

// MEM-20: a program cannot use its own artifact as memory: it cannot be opened for writing. A file
// of the same size that the program creates can, which is the control. The program may remove the
// artifact and create another file in its place.
func TestHostileArtifactsAreNotWritable(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1", "--max-wall", "10m", "--max-cpu", "10m")
	res := a.MustRun(t, api.Run{Language: "c", Source: api.Bytes(`#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
static volatile unsigned char big[4 << 20] = {1};
int main(void) {
  struct stat st;
  if (stat("/box/main", &st)) return 1;
  int main = open("/box/main", O_RDWR), change = chmod("/box/main", 0777), why = errno, cut = truncate("/box/main", 0);
  int own = open("/box/own", O_CREAT | O_RDWR, 0700);
  printf("%d owner %d mode %o open %d chmod %d %s cut %d own %d", big[0], st.st_uid, st.st_mode & 07777, main, change, strerror(why), cut, own >= 0);
  int away = unlink("/box/main"), new = open("/box/main", O_CREAT | O_RDWR, 0700);
  printf(" away %d new %d", away, new >= 0);
  return 0;
}`), Collect: api.Collect{None: true}, Profile: "default"})

	harness.WantVerdict(t, res, api.OK)
	if want := "1 owner 0 mode 555 open -1 chmod -1 Operation not permitted cut -1 own 1 away 0 new 1"; string(res.Stdout) != want {
		t.Errorf("%q; want %q", res.Stdout, want)
	}
}

// RES-12: the nonexistent names that a run looked up take kernel memory that is charged to the run:
// it is freed with the run and does not stay with the agent's groups, whether its cell serves
// another run or not.
func TestHostileLookupsGoWithTheRun(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1", "--max-wall", "10m", "--max-cpu", "10m")
	look := harness.CompileC(t, "look", `#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
int main(int c, char **v) { struct stat st; char n[300]; for (long i = 0; i < 75000; i++) { sprintf(n, "/usr/%s-%0*ld", v[1], 245 - (int)strlen(v[1]), i); stat(n, &st); } return 0; }`) // each name is so long that it takes 512 bytes in addition to its entry

	run := func(name string, mode api.Mode) int64 {
		r := harness.Program(look, fmt.Sprintf("%s-%d", name, os.Getpid()))
		r.Limits, r.Collect.None, r.Mode = api.Limits{Wall: harness.Slowly(30)}, true, mode
		res := a.MustRun(t, r)
		harness.WantVerdict(t, res, api.OK)
		return *res.Usage.Memory.Value
	}

	harness.WantVerdict(t, a.MustRun(t, harness.Sh("exit 0")), api.OK)
	before := groupMemory(t, a)
	for i, mode := range []api.Mode{api.Strict, api.Fresh, api.Strict} {
		if used := run(fmt.Sprint("none-", i), mode); used < 30<<20 {
			t.Fatalf("75,000 names took %d bytes: the test proves nothing", used)
		}
	}

	deadline, left := harness.Patience(), int64(0)
	for left = groupMemory(t, a) - before; left > 16<<20 && time.Now().Before(deadline); left = groupMemory(t, a) - before {
		time.Sleep(20 * time.Millisecond)
	}

	if left > 16<<20 {
		t.Errorf("%d bytes of the runs stay charged to the agent's groups:\n%s", left, groupStat(t, a))
	}
}

// groupStat returns the kernel's memory statistics of the agent's groups.
func groupStat(t testing.TB, a *harness.Agent) string {
	t.Helper()
	for _, path := range a.Groups(t) {
		if text, err := os.ReadFile(filepath.Join(path, "memory.stat")); err == nil {
			return string(text)
		}
	}
	return "no memory.stat"
}

// groupMemory is what is charged to the agent's groups.
func groupMemory(t testing.TB, a *harness.Agent) int64 {
	t.Helper()
	for _, path := range a.Groups(t) {
		for _, file := range []string{"memory.current", "memory.usage_in_bytes"} {
			if text, err := os.ReadFile(filepath.Join(path, file)); err == nil {
				n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
				if err != nil {
					t.Fatal(err)
				}
				return n
			}
		}
	}

	t.Fatal("no group of the agent tells its memory")
	return 0
}

// MEM-20, for a program that is an input: next to it is a file that is not executable, which is the
// control.
func TestHostileProgramsAreNotWritable(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1", "--max-wall", "10m", "--max-cpu", "10m")
	r := harness.Sh(`stat -c '%u %a' prog data; for f in prog data; do (echo x >>$f) 2>/dev/null && echo written $f; done; ./prog; rm prog && echo away`)
	r.Files = []api.File{
		{Name: "prog", Content: api.Bytes("#!/bin/sh\necho runs\n"), Executable: true},
		{Name: "data", Content: api.Bytes("y\n")},
	}
	r.Collect.None = true
	res := a.MustRun(t, r)
	harness.WantVerdict(t, res, api.OK)
	if want := "0 555\n1000 644\nwritten data\nruns\naway\n"; string(res.Stdout) != want {
		t.Errorf("%q; want %q", res.Stdout, want)
	}
}
