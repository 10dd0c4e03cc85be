package calls

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/runtime/linux"
)

// Listen carries out a call of listen in place of the program, with a queue of at most
// maximum connections, and returns its errno; zero: it succeeded. The kernel charges connections in a queue to
// no group (MEM-43). The setting that bounds queues, net.core.somaxconn, cannot be used: kernels such
// as Linux 6.1 and 6.12 have none in a network namespace that belongs to a user namespace
// (net/core/sysctl_net_core.c). pidfd_getfd since Linux 5.6.
func Listen(listener *os.File, n linux.SeccompNotif, maximum int) (unix.Errno, error) {
	queue := int(uint32(n.Args[1]))
	if queue > maximum {
		queue = maximum
	}

	process, err := processOf(n.Pid)
	if err != nil {
		return unix.EBADF, nil // it has ended
	}

	pidfd, err := unix.PidfdOpen(process, 0)
	if err != nil {
		return unix.EBADF, nil
	}
	defer unix.Close(pidfd)

	// The number of an ended process could belong to another one by now.
	if valid, err := linux.NotifValid(listener, n.ID); err != nil || !valid {
		return unix.EBADF, err
	}

	socket, err := unix.PidfdGetfd(pidfd, int(uint32(n.Args[0])), 0)
	switch {
	case errors.Is(err, unix.EBADF) || errors.Is(err, unix.ESRCH):
		return unix.EBADF, nil
	case err != nil:
		return 0, os.NewSyscallError("pidfd_getfd", err)
	}
	defer unix.Close(socket)

	err = unix.Listen(socket, queue)
	var errno unix.Errno
	if err != nil && !errors.As(err, &errno) {
		return 0, err
	}
	return errno, nil
}

// processOf returns the process to which a thread belongs.
func processOf(thread uint32) (int, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", thread))
	if err != nil {
		return 0, err
	}
	_, rest, _ := bytes.Cut(status, []byte("\nTgid:\t"))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	return strconv.Atoi(string(line))
}
