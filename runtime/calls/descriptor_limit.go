package calls

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/runtime/linux"
)

// maxExaminedPids is how many processes of a run are examined.
const maxExaminedPids = 32

// AtDescriptorLimit reports whether a process of the group dir has as many descriptors as it may
// have. The kernel does not count refused open calls, so the limit is only seen on living
// processes: those of a run that brig is about to stop.
func AtDescriptorLimit(dir *os.File, limit int64) (bool, error) {
	if dir == nil {
		return false, nil // no cgroup2: the run's processes cannot be listed without a race
	}

	n, err := unix.Openat(linux.FD(dir), "cgroup.procs", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return false, os.NewSyscallError("openat cgroup.procs", err)
	}

	procs := os.NewFile(uintptr(n), "cgroup.procs")
	defer procs.Close()

	var list [maxExaminedPids * 8]byte
	got, err := procs.Read(list[:])
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}

	for line := range strings.Lines(string(list[:got])) {
		pid, err := strconv.Atoi(strings.TrimSpace(line))
		if err != nil || !strings.HasSuffix(line, "\n") {
			break // the last number may be cut short
		}
		open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
		if err == nil && int64(len(open)) >= limit { // a process that has just ended is no error
			return true, nil
		}
	}

	return false, nil
}
