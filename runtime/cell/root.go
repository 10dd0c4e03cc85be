package cell

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/runtime/linux"
)

// OpenRoot returns a handle of the root directory that a process of a cell sees. It keeps what is
// mounted there in memory until it is closed.
func OpenRoot(pidfd *os.File) (*os.File, error) {
	pid, err := pidOf(pidfd)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenFile("/proc/"+pid+"/root", unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, fmt.Errorf("root of a cell: %w", err)
	}

	// As long as the process has not been reaped no other one has its number, so it was its root.
	if err := unix.PidfdSendSignal(linux.FD(pidfd), 0, nil, 0); err != nil {
		return nil, errors.Join(os.NewSyscallError("pidfd_send_signal", err), root.Close())
	}
	return root, nil
}

// pidOf returns the number of a process in the pid namespace of this process's /proc.
func pidOf(pidfd *os.File) (string, error) {
	info, err := os.Open(fmt.Sprintf("/proc/self/fdinfo/%d", linux.FD(pidfd)))
	if err != nil {
		return "", err
	}
	defer info.Close()

	for lines := bufio.NewScanner(info); lines.Scan(); {
		if pid, is := strings.CutPrefix(lines.Text(), "Pid:"); is {
			if pid = strings.TrimSpace(pid); pid == "" || pid[0] == '-' || pid == "0" { // -1: it has ended
				return "", unix.ESRCH
			}
			return pid, nil
		}
	}
	return "", errors.New("/proc has no number of the process of a pidfd")
}
