package run

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	groups "github.com/brig-sandbox/brig/cgroups"
	"github.com/brig-sandbox/brig/internal/procfs"
	"github.com/brig-sandbox/brig/runtime/cell"
	"github.com/brig-sandbox/brig/runtime/linux"
)

// signals sends what a caller wants to the program of an exec: to its process group, or, at a terminal, to the group in
// the foreground, as the keys do. Only processes of the exec get one, each through a descriptor, because a number may
// belong to another process by the time it is used (TestSignalsReachNoOther).
type signals struct {
	shell    *cell.Shell
	terminal *os.File // the master; nil: pipes

	mu   sync.Mutex // held while processes are looked at
	over bool       // guarded by mu; the exec has ended
}

// end ends the sending. Later signals reach nobody.
func (s *signals) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
}

// send sends one signal. A program that is about to start gets it when it has started.
func (s *signals) send(signal api.Signal) error {
	if err := signal.Validate(); err != nil {
		return err
	}
	number := unix.SignalNum(string(signal))
	if number == 0 {
		return fmt.Errorf("BUG: signal %s has no number", signal)
	}

	for {
		s.mu.Lock()
		over := s.over
		started := over || s.shell.Clock.Exec() != 0
		var err error
		if started && !over {
			err = s.deliver(number)
		}
		s.mu.Unlock()
		if started {
			return err
		}
		time.Sleep(time.Millisecond) // the agent ends a program that does not start (startGrace)
	}
}

// deliver sends a signal to the processes of the group. s.mu is held, so the leaf and the shell are there.
func (s *signals) deliver(signal unix.Signal) error {
	group, err := s.group()
	if err != nil || group == 0 {
		return err
	}

	leaf := s.shell.Leaf
	pids, err := leaf.Pids()
	if err != nil {
		return err
	}
	for chunk := range slices.Chunk(pids, 64) { // an open file for each
		if err := sendTo(leaf, chunk, group, signal); err != nil {
			return err
		}
	}
	return nil
}

// group is the process group that gets a signal, as the agent sees it; zero: none is left.
func (s *signals) group() (int, error) {
	if s.terminal != nil {
		group, err := unix.IoctlGetInt(linux.FD(s.terminal), unix.TIOCGPGRP)
		if err == nil && group > 0 {
			return group, nil
		}
	}

	shell, err := pidOf(s.shell.Pidfd)
	if err != nil || shell <= 0 {
		return 0, err
	}

	pids, err := s.shell.Leaf.Pids()
	if err != nil {
		return 0, err
	}
	for _, pid := range pids { // the program is the only child of its shell: orphans go to the session's
		stat, err := procfs.ReadStat(strconv.Itoa(pid))
		if err == nil && stat.Parent == shell {
			return stat.Group, nil
		}
	}
	return 0, nil
}

// sendTo sends a signal to those of some processes that are in a group and in a leaf. The descriptor is opened before the
// process is looked at: if it still refers to a living process when the signal is sent, that one was looked at.
func sendTo(leaf *groups.Leaf, pids []int, group int, signal unix.Signal) error {
	type target struct{ pid, fd int }
	var targets []target
	defer func() {
		for _, t := range targets {
			_ = unix.Close(t.fd)
		}
	}()

	for _, pid := range pids {
		stat, err := procfs.ReadStat(strconv.Itoa(pid))
		if err != nil || stat.Group != group {
			continue // it has ended, or belongs to another group
		}
		fd, err := unix.PidfdOpen(pid, 0)
		switch {
		case errors.Is(err, unix.ESRCH), errors.Is(err, unix.EINVAL):
			continue
		case err != nil:
			return os.NewSyscallError("pidfd_open", err)
		}
		targets = append(targets, target{pid, fd})
	}
	if len(targets) == 0 {
		return nil
	}

	now, err := leaf.Pids()
	if err != nil {
		return err
	}
	for _, t := range targets {
		stat, err := procfs.ReadStat(strconv.Itoa(t.pid))
		if err != nil || stat.Group != group || !slices.Contains(now, t.pid) {
			continue
		}
		if err := unix.PidfdSendSignal(t.fd, signal, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
			return os.NewSyscallError("pidfd_send_signal", err)
		}
	}
	return nil
}

// pidOf reads which process a descriptor refers to; -1: it has ended.
func pidOf(pidfd *os.File) (int, error) {
	text, err := os.ReadFile("/proc/self/fdinfo/" + strconv.Itoa(linux.FD(pidfd)))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, "Pid:"); ok {
			return strconv.Atoi(strings.TrimSpace(value))
		}
	}
	return 0, errors.New("the kernel does not say which process a pidfd refers to")
}
