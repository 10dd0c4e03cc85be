package isolation

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// FIO-22. A run that reads a file of the image past the page cache monopolizes the host's disk:
// next to 64 threads that did so a neighbour's write took 120 ms instead of 0.5. No tier allows it,
// neither when the file is opened nor later.
func TestHostileDirectReads(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1")
	prog := harness.CompileC(t, "direct", `#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(void) {
	int plain = open("/bin/busybox", O_RDONLY);
	printf("plain %d\n", plain >= 0);
	printf("open %s\n", syscall(SYS_open, "/bin/busybox", O_RDONLY | O_DIRECT) < 0 ? strerrorname_np(errno) : "0");
	printf("openat %s\n", syscall(SYS_openat, AT_FDCWD, "/bin/busybox", O_RDONLY | O_DIRECT) < 0 ? strerrorname_np(errno) : "0");
	printf("garbage %s\n", syscall(SYS_openat, AT_FDCWD, "/bin/busybox", 1UL << 40 | O_RDONLY | O_DIRECT) < 0 ? strerrorname_np(errno) : "0");
	printf("fcntl %s\n", syscall(SYS_fcntl, plain, F_SETFL, O_DIRECT) < 0 ? strerrorname_np(errno) : "0");
	printf("others %s\n", fcntl(plain, F_SETFL, O_NONBLOCK) < 0 ? strerrorname_np(errno) : "0");
	printf("flags %x\n", fcntl(plain, F_GETFL) & (O_DIRECT | O_NONBLOCK));
	return 0;
}`)

	for _, tier := range []string{"strict", "default", "managed", "compile"} {
		r := harness.Program(prog)
		r.Profile = tier
		res := a.MustRun(t, r)
		harness.WantVerdict(t, res, api.OK)
		if want := "plain 1\nopen EPERM\nopenat EPERM\ngarbage EPERM\nfcntl EPERM\nothers 0\nflags 800\n"; string(res.Stdout) != want {
			t.Errorf("%s: %q; want %q", tier, res.Stdout, want)
		}
	}

	// The control: the file system of the images supports it.
	file := filepath.Join(harness.DataDir(t), "direct")
	if err := os.WriteFile(file, make([]byte, 4096), 0o600); err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { os.Remove(file) })
	fd, err := unix.Open(file, unix.O_RDONLY|unix.O_DIRECT|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatalf("outside: %v; the test proves nothing", err)
	}

	unix.Close(fd)
}
