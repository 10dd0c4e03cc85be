// Package confine bounds what a process of brig may use that reads what strangers made, and puts it out
// of reach of other processes.
package confine

import (
	"fmt"
	"os"
	"runtime/debug"

	"golang.org/x/sys/unix"
)

// Limits bound one process. Zero fields set no limit, except Memory.
type Limits struct {
	Memory   uint64 // bytes that it may map for writing; more ends it
	FileSize uint64 // bytes of a file that it writes; more is an error
	CPU      uint64 // seconds of processor time; more ends it
}

// maxFiles bounds the descriptors of a process.
const maxFiles = 256

// Self puts this process out of reach of other processes of its uid, which can neither trace it nor read
// its memory, environment and descriptors (IMG-43), and bounds it. It writes no core file.
func Self(l Limits) error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("prctl dumpable: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("prctl no_new_privs: %w", err)
	}

	for _, one := range []struct {
		resource int
		max      uint64
		set      bool
	}{
		{unix.RLIMIT_CORE, 0, true}, {unix.RLIMIT_NOFILE, maxFiles, true}, {unix.RLIMIT_DATA, l.Memory, true},
		{unix.RLIMIT_FSIZE, l.FileSize, l.FileSize > 0}, {unix.RLIMIT_CPU, l.CPU, l.CPU > 0},
	} {
		if !one.set {
			continue
		}
		if err := unix.Setrlimit(one.resource, &unix.Rlimit{Cur: one.max, Max: one.max}); err != nil {
			return fmt.Errorf("limit %d: %w", one.resource, err)
		}
	}

	debug.SetMemoryLimit(int64(l.Memory / 2)) // so that the garbage collector runs in time
	return nil
}

// EndWith ends this process when the other end of in closes, whatever it waits for: its parent may have
// been killed. It returns at once.
func EndWith(in *os.File) {
	go func() { // ends with the process
		for {
			fds := []unix.PollFd{{Fd: int32(in.Fd())}}
			if _, err := unix.Poll(fds, -1); err == nil && fds[0].Revents != 0 {
				os.Exit(1)
			}
		}
	}()
}
