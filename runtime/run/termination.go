package run

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/runtime/cell"
	"github.com/brig-sandbox/brig/runtime/linux"
)

// usualExitTime is the most that the kernel needs to end the processes of an ordinary program.
const usualExitTime = 100 * time.Millisecond

// ensureEmpty proves that the group holds no process. Usually the group is empty already when the shell
// reports. Processes that are left die with the shell, whose end ends its pid namespace. What an
// exec that ended by itself has left running belongs to its session.
func (w *supervisor) ensureEmpty() error {
	if err := w.disconnect(); err != nil {
		return err
	}

	timeout := cell.EmptyTimeout
	if w.verdictKnown() {
		timeout = cell.KillTimeout
	}
	if w.Session != nil {
		if !w.stopped {
			return nil
		}
		return w.Shell.KillProcesses(timeout)
	}

	empty, err := w.Shell.Leaf.Empty()
	if err != nil || empty {
		return err
	}
	if err := w.lateDenial(); err != nil {
		return err
	}
	if err := w.Shell.Kill(); err != nil {
		return err
	}

	deadline := linux.Monotonic() + timeout
	err = linux.WaitReadable(w.Shell.Pidfd, min(timeout, usualExitTime))
	if errors.Is(err, os.ErrDeadlineExceeded) {
		w.Shell.KillGroup()
		err = linux.WaitReadable(w.Shell.Pidfd, deadline-linux.Monotonic())
	}
	if err != nil {
		return fmt.Errorf("the shell does not end: %w", errors.Join(err, cell.ErrStillRunning))
	}

	// The end of the pid namespace leaves no process. If one is left nevertheless, the group is
	// killed: a second layer.
	err = cell.WaitEmpty(w.Shell.Leaf, min(deadline-linux.Monotonic(), usualExitTime))
	if errors.Is(err, cell.ErrStillRunning) {
		w.Shell.KillGroup()
		err = cell.WaitEmpty(w.Shell.Leaf, deadline-linux.Monotonic())
	}
	return err
}

// verdictKnown reports whether the verdict is known, however long the other processes take to die.
func (w *supervisor) verdictKnown() bool { return w.stopped || w.replied }

// span is when the program began and when it ended, on the monotonic clock. It has ended with the last process
// whose output was waited for. A program that we ended has ended when SIGKILL was sent: the time that the kernel
// then needs to free its memory is not counted.
func (w *supervisor) span() (exec, exit time.Duration) {
	exec, exit = w.started, linux.Monotonic()
	if w.replied {
		exec, exit = time.Duration(w.reply.ExecNs), time.Duration(w.reply.ExitNs)
	} else if at := w.Shell.Clock.Exec(); at > 0 {
		exec = at
	}
	if w.left != nil {
		end := max(w.left.ended, w.killed)
		if w.Session != nil && !w.stopped { // the wall limit is that of the main process (writers.go)
			end = min(end, exec+time.Duration(w.limits.Wall))
		}
		exit = max(exit, end)
	}
	if w.killed > exec {
		exit = min(exit, w.killed)
	}
	return exec, exit
}

// endedBySession reports whether the end of its session ended an exec. That end kills everything at once,
// and our own wake-up may arrive only when nothing is left to stop. If a cell is killed from
// outside, all its shells die with it, and the session's own goroutine may notice that later than
// we do.
func (w *supervisor) endedBySession() bool {
	v := w.Session
	if v == nil || w.stopped || w.failed != nil || w.replied && unix.WaitStatus(w.reply.Status).Signal() != unix.SIGKILL {
		return false
	}
	if !w.replied {
		select {
		case <-v.Ended():
		case <-time.After(cellExitTime):
		}
	}

	select {
	case <-v.Ended():
		return true
	default:
		return false
	}
}

// cellExitTime is the most time between the death of one of a cell's processes, when the cell is
// killed, and that of its init, which the session watches.
const cellExitTime = time.Second
