package runtime

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
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
	timeout := emptyTimeout
	if w.verdictKnown() {
		timeout = killTimeout
	}
	if w.session != nil {
		if !w.stopped {
			return nil
		}
		return w.shell.killProcesses(timeout)
	}
	empty, err := w.shell.leaf.Empty()
	if err != nil || empty {
		return err
	}
	if err := w.lateDenial(); err != nil {
		return err
	}
	if err := w.shell.kill(); err != nil {
		return err
	}
	deadline := monotonic() + timeout
	err = waitReadable(w.shell.pidfd, min(timeout, usualExitTime))
	if errors.Is(err, os.ErrDeadlineExceeded) {
		w.shell.killGroup()
		err = waitReadable(w.shell.pidfd, deadline-monotonic())
	}
	if err != nil {
		return fmt.Errorf("the shell does not end: %w", errors.Join(err, errStillRunning))
	}
	// The end of the pid namespace leaves no process. If one is left nevertheless, the group is
	// killed: a second layer.
	err = waitEmpty(w.shell.leaf, min(deadline-monotonic(), usualExitTime))
	if errors.Is(err, errStillRunning) {
		w.shell.killGroup()
		err = waitEmpty(w.shell.leaf, deadline-monotonic())
	}
	return err
}

// verdictKnown reports whether the verdict is known, however long the other processes take to die.
func (w *supervisor) verdictKnown() bool { return w.stopped || w.replied }

// span is when the program began and when it ended, on the monotonic clock. A program that we ended
// has ended when SIGKILL was sent: the time that the kernel then needs to free its memory is not
// counted.
func (w *supervisor) span() (exec, exit time.Duration) {
	exec, exit = w.started, monotonic()
	if w.replied {
		exec, exit = time.Duration(w.reply.ExecNs), time.Duration(w.reply.ExitNs)
	} else if at := w.shell.clock.exec(); at > 0 {
		exec = at
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
	v := w.session
	if v == nil || w.stopped || w.failed != nil || w.replied && unix.WaitStatus(w.reply.Status).Signal() != unix.SIGKILL {
		return false
	}
	if !w.replied {
		select {
		case <-v.ended():
		case <-time.After(cellExitTime):
		}
	}
	select {
	case <-v.ended():
		return true
	default:
		return false
	}
}

// cellExitTime is the most time between the death of one of a cell's processes, when the cell is
// killed, and that of its init, which the session watches.
const cellExitTime = time.Second
