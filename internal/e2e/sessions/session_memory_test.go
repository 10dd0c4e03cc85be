package sessions

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// A program that looks at a process while the kernel kills it, as ps does, keeps its memory for so long. The next exec
// of its session has the memory nevertheless, and no process that was left running is killed for it. Here one looks
// for longer than ps: what it reads goes to a page that nobody provides.
func TestSessionMemoryOfAKilledExecIsAwaited(t *testing.T) {
	look := filepath.Join(t.TempDir(), "look")
	if err := os.WriteFile(look, harness.CompileBinary(t, `#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
static struct iovec to, from;
static int pid;
static void *reads(void *x) { process_vm_readv(pid, &to, 1, &from, 1, 0); perror("process_vm_readv"); _exit(1); }
int main(int argc, char **argv) {
	int fd = syscall(SYS_userfaultfd, O_CLOEXEC);
	struct uffdio_api api = {.api = UFFD_API};
	if (fd < 0 || ioctl(fd, UFFDIO_API, &api)) { puts("none"); return 0; }
	to.iov_base = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct uffdio_register all = {.range = {(long)to.iov_base, 4096}, .mode = UFFDIO_REGISTER_MODE_MISSING};
	if (ioctl(fd, UFFDIO_REGISTER, &all)) { perror("register"); return 1; }
	pid = atoi(argv[1]); from.iov_base = (void *)strtoul(argv[2], 0, 16); to.iov_len = from.iov_len = 16;
	pthread_t one; pthread_create(&one, 0, reads, 0);
	struct pollfd p = {fd, POLLIN}; poll(&p, 1, -1);
	puts("looking"); fflush(stdout); usleep(600000); return 0; }`, "-static", "-O0", "-pthread", "-w"), 0o700); err != nil {
		t.Fatal(err)
	}

	a := harness.StartAgent(t, "--slots", "2")
	grow := harness.CompileC(t, "grow", `#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(int argc, char **argv) {
	size_t n = atol(argv[1]) << 20; memset(malloc(n), 1, n);
	if (argc > 2) close(open(argv[2], O_CREAT | O_WRONLY, 0644));
	if (argc > 3) { while (access(argv[3], F_OK)) usleep(10000); for (;;) memset(malloc(1 << 20), 1, 1 << 20); }
	while (argc == 3) pause();
	return 0; }`)

	s := a.NewSession(t, nil) // of 64 MiB
	put := func(name string, content []byte) {
		t.Helper()
		if err := a.PutFile(t.Context(), s.ID, name, strings.NewReader(string(content)), true); err != nil {
			t.Fatal(err)
		}
	}

	put("grow", grow.Content)
	a.WantOutput(t, s.ID, "./grow 24 left >/dev/null 2>&1 & until test -e left; do sleep 0.05; done", "")
	killed := make(chan api.Result)
	go func() {
		defer close(killed)
		res, err := a.Exec(t.Context(), s.ID, api.Exec{Argv: []string{"./grow", "20", "ready", "go"}})
		if err != nil {
			t.Error(err)
		}
		killed <- res
	}()

	a.WantOutput(t, s.ID, "until test -e ready; do sleep 0.05; done", "")
	var pid, address string
	for _, name := range harness.ProcessesNamed(t, "./grow") {
		if text, _ := os.ReadFile(name); strings.Contains(string(text), "\x00go\x00") {
			maps, err := os.ReadFile(filepath.Join(filepath.Dir(name), "maps"))
			if err != nil {
				t.Fatal(err)
			}
			pid, address = filepath.Base(filepath.Dir(name)), regexp.MustCompile(`^[0-9a-f]+`).FindString(string(maps))
		}
	}

	looker := exec.CommandContext(t.Context(), look, pid, address)
	looker.Stderr = os.Stderr
	said, err := looker.StdoutPipe()
	if err == nil {
		err = looker.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(said).ReadString('\n'); err != nil || line != "looking\n" {
		t.Logf("%q, %v: this kernel has no userfaultfd, so nobody looks", line, err)
	}

	put("go", nil)
	begun := time.Now()
	harness.WantVerdict(t, <-killed, api.MemoryLimit)
	t.Logf("the exec that was killed ended after %s", time.Since(begun))
	harness.WantVerdict(t, a.MustExec(t, s.ID, api.Exec{Argv: []string{"./grow", "24"}}), api.OK)
	if left := harness.ProcessesNamed(t, "./grow"); len(left) != 1 {
		t.Errorf("%d processes live; want the one in the background", len(left))
	}
	if err := looker.Wait(); err != nil {
		t.Error(err)
	}
}
