package netns

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/internal/testenv"
)

// MEM-43, MEM-44. The bounds on kernel memory are set in the namespace of each run, with ports or
// without, and not in that of the host.
func TestMemoryIsBoundedInTheNamespace(t *testing.T) {
	testenv.NeedRoot(t)

	for _, ports := range [][]uint16{nil, {80, 443}} {
		cmd := exec.Command("sleep", "60")
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNET}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}

		fd, err := unix.PidfdOpen(cmd.Process.Pid, 0)
		if err != nil {
			t.Fatal(err)
		}

		pidfd := os.NewFile(uintptr(fd), "pidfd")
		sockets, err := Open(pidfd, ports)
		if err != nil {
			t.Fatal(err)
		}
		if want := len(ports); want > 0 && len(sockets) != want+2 || want == 0 && len(sockets) != 0 {
			t.Errorf("%d sockets for the ports %v", len(sockets), ports)
		}

		for name, want := range memoryBounds {
			got, err := exec.Command("nsenter", "--net=/proc/"+strconv.Itoa(cmd.Process.Pid)+"/ns/net", "cat", name).CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, got)
			}
			host, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if in := strings.Join(strings.Fields(string(got)), " "); in != want || string(got) == string(host) {
				t.Errorf("%s is %q in the namespace and %q on the host; want %q in the namespace alone", name, in, host, want)
			}
		}

		for _, s := range sockets {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}

		if err := cmd.Process.Kill(); err != nil {
			t.Error(err)
		}

		_ = cmd.Wait() // killed
		if err := pidfd.Close(); err != nil {
			t.Error(err)
		}
	}
}
