package runtime

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
)

// The tags of the events that a supervisor waits for.
const (
	tagReply int32 = iota
	tagShell
	tagStdin
	tagStdout
	tagStderr
	tagWall
	tagCPU
	tagThrottle
	tagOOM
	tagNotify
	tagCallTimer
	tagWake
)

// killGrace is the time between killing a program and killing its shell. The shell's report is
// worth this wait: it contains the exit time and the usage.
const killGrace = 200 * time.Millisecond

// maxLogged limits Result.Logged: a program can make calls of any number.
const maxLogged = 256

// A supervisor follows one started run to its end. It owns no descriptor. Meanwhile it uses the poller,
// the timers and the wake event of the slot.
type supervisor struct {
	slot   *slot
	cell   *cell
	shell  *shell
	limits api.Limits
	filter *filter
	placed api.Size // memory of the inputs, which counts against the run's

	started  time.Duration // when the start message went out
	stdin    []byte        // still to be written
	out      *outputs
	reporter *usageReporter // nil: no caller wants usage updates
	parked   [2]bool        // not polled: ended, throttled, or the caller has not taken the last chunk

	ev         api.Evidence
	logged     []api.Denial
	refused    refusals
	calls      callListener
	locks      lockQuota
	own        ownFiles
	reply      wireReply
	replied    bool  // the shell reported the program's end
	failed     error // the shell reported a step that failed
	shellEnded bool  // the shell has ended

	oomChecks      int           // remaining checks for the kill that an OOM event announced
	stopped        bool          // the agent ended the run
	killed         time.Duration // when SIGKILL was sent, on the monotonic clock
	reportDeadline time.Duration // when stopped: until then the shell may still report
}

// run waits until the program has ended, and ends it when a limit is exceeded. If it returns no
// error, the shell has reported or has ended.
func (w *supervisor) run(ctx context.Context) error {
	stop := context.AfterFunc(ctx, w.slot.wake.wake)
	defer stop()
	if err := w.arm(); err != nil {
		return err
	}
	for !w.finished() {
		events, err := w.slot.poller.wait()
		if err != nil {
			return err
		}
		for _, e := range events {
			if err := w.handle(ctx, e); err != nil {
				return err
			}
		}
	}
	return nil
}

// finished reports whether the end of the program is known.
func (w *supervisor) finished() bool { return w.replied || w.failed != nil || w.shellEnded }

// checkFinished reads what the shell may have sent since the last event: a late agent finds the end of the
// program and an expired clock at the same time.
func (w *supervisor) checkFinished() (bool, error) {
	if w.finished() {
		return true, nil
	}
	err := w.onReply()
	return w.finished(), err
}

// arm sets both clocks as if the program had started with the message. When the wall clock expires,
// the cell's clock page has the actual start.
func (w *supervisor) arm() error {
	return errors.Join(w.slot.wall.set(w.started+time.Duration(w.limits.Wall)), w.armCPU(0))
}

// startGrace is how long a program may take to start, beyond its wall limit, on an overloaded
// host.
const startGrace = 10 * time.Second

// armCPU sets the next check of the cpu time: the limit cannot be reached before every allowed
// processor has run for its share of the remainder.
func (w *supervisor) armCPU(used time.Duration) error {
	left := time.Duration(w.limits.CPU) - used
	return w.slot.cpu.set(monotonic() + max(time.Duration(float64(left)/w.slot.parallel(w.limits)), 200*time.Microsecond))
}

func (w *supervisor) handle(ctx context.Context, e unix.EpollEvent) error {
	switch e.Fd {
	case tagReply:
		return w.onReply()
	case tagShell:
		w.shellEnded = true
		return w.onReply() // its last message is still in the socket
	case tagStdin:
		return w.onStdin(e.Events)
	case tagStdout, tagStderr:
		return w.onOutput(int(e.Fd - tagStdout))
	case tagWall:
		return w.onWall()
	case tagCPU:
		return w.onCPU()
	case tagThrottle:
		return w.onThrottleEnd()
	case tagOOM:
		return w.onOOM()
	case tagNotify:
		return w.onNotify(e.Events)
	case tagCallTimer:
		return w.calls.resume()
	case tagWake:
		w.slot.wake.clear()
		if ctx.Err() != nil && !w.stopped {
			w.ev.Canceled = true
			return w.stop()
		}
		if err := w.sampleUsage(); err != nil {
			return err
		}
		if v := w.shell.exec; v != nil {
			if d := v.calls.denial(); d != nil {
				if err := w.onDenial(*d); err != nil {
					return err
				}
			}
		}
		return w.resumeOutputs()
	}
	return nil
}

func (w *supervisor) onReply() error {
	buf := make([]byte, wireReplySize)
	_, err := recvOnce(fd(w.shell.sock.file), buf)
	if errors.Is(err, unix.ECONNRESET) { // reported once, ahead of the messages that are still in the socket
		_, err = recvOnce(fd(w.shell.sock.file), buf)
	}
	switch {
	case errors.Is(err, unix.EAGAIN):
		return nil
	case errors.Is(err, io.EOF), errors.Is(err, unix.ECONNRESET):
		w.shellEnded = true
		return nil
	case err != nil:
		return err
	}
	w.reply, err = decodeReply(buf, kindExited)
	var step *StepError
	switch {
	case errors.As(err, &step):
		w.failed = step
	case err != nil:
		return err
	default:
		w.replied = true
	}
	return nil
}

// stop ends the run: all processes of the group at once, where the kernel can do that, and the
// shell only if it does not report soon after.
func (w *supervisor) stop() error {
	if w.stopped {
		return nil
	}
	w.stopped = true
	var err error
	if w.ev.FilesHit, err = atDescriptorLimit(w.shell.leaf.Dir(), w.limits.OpenFiles); err != nil {
		return err
	}
	err = w.shell.leaf.Kill()
	w.killed = monotonic()
	if err != nil {
		return w.shell.kill() // no cgroup.kill here; the pid namespace ends with its init
	}
	w.shell.expedite()
	w.reportDeadline = monotonic() + killGrace
	return w.slot.wall.set(w.reportDeadline)
}

func (w *supervisor) onWall() error {
	w.slot.wall.drain()
	if w.stopped {
		return w.shell.kill()
	}
	if ended, err := w.checkFinished(); err != nil || ended {
		return err
	}
	at := monotonic()
	exec := w.shell.clock.exec()
	switch due := exec + time.Duration(w.limits.Wall); {
	case exec == 0 && at < w.started+time.Duration(w.limits.Wall)+startGrace:
		return w.slot.wall.set(at + time.Millisecond)
	case exec == 0 && w.shell.exec == nil:
		return fmt.Errorf("the program was not started within %s", startGrace)
	case at < due:
		return w.slot.wall.set(due)
	}
	// In a session, processes of the same user may have stopped the child before it became the
	// program. The session caused that, so the exec ends with the wall limit.
	w.ev.WallExpired = true
	return w.stop()
}

func (w *supervisor) onCPU() error {
	w.slot.cpu.drain()
	if w.stopped {
		return nil
	}
	if w.oomChecks > 0 {
		return w.checkOOM()
	}
	used, err := w.shell.leaf.CPUTime()
	if err != nil {
		return err
	}
	if used > time.Duration(w.limits.CPU) {
		return w.stop() // the verdict follows from the final value, which is larger
	}
	return w.armCPU(used)
}

// onOOM ends the whole group when the kernel has killed a part of it: the result of a program that
// lost one of its processes is meaningless. On v2 the kernel does the same by itself
// (memory.oom.group).
func (w *supervisor) onOOM() error {
	if err := w.shell.leaf.DrainOOM(); err != nil || w.stopped {
		return err
	}
	w.oomChecks = maxOOMChecks
	return w.checkOOM()
}

// checkOOM checks whether the kernel has killed a process. Version 1 sends the event before it
// kills, so a check that finds nothing is repeated a few times, a millisecond apart.
func (w *supervisor) checkOOM() error {
	u, err := w.shell.leaf.Usage()
	switch {
	case err != nil:
		return err
	case u.OOMKills > 0:
		return w.stop()
	}
	w.oomChecks--
	return w.slot.cpu.set(monotonic() + time.Millisecond)
}

const maxOOMChecks = 20

// onStdin writes what the pipe takes. If the program closed its end, or has ended, the rest is
// dropped.
func (w *supervisor) onStdin(events uint32) error {
	if err := w.writeStdin(); err != nil {
		return err
	}
	if len(w.stdin) > 0 && events&unix.EPOLLERR != 0 {
		w.stdin = nil
	}
	if len(w.stdin) == 0 {
		return errors.Join(w.slot.poller.remove(w.shell.stdin), w.shell.stdin.Close())
	}
	return nil
}

// writeStdin writes to the program's stdin without waiting.
func (w *supervisor) writeStdin() error {
	for len(w.stdin) > 0 {
		n, err := unix.Write(fd(w.shell.stdin), w.stdin)
		switch {
		case errors.Is(err, unix.EAGAIN):
			return nil
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EPIPE):
			w.stdin = nil
		case err != nil:
			return os.NewSyscallError("write stdin", err)
		default:
			w.stdin = w.stdin[n:]
		}
	}
	return nil
}

// onOutput reads one chunk. A stream that ended, is throttled, or whose caller has not taken the
// last chunk yet, is not polled until that changes.
func (w *supervisor) onOutput(i int) error {
	s := &w.out[i]
	if !s.busy() {
		before := s.total
		if _, err := s.read(w.slot.chunk[:], false); err != nil {
			return err
		}
		if s.over() && !w.stopped {
			w.ev.OutputFull = true
			return w.stop()
		}
		if err := w.throttle(s, s.total-before); err != nil {
			return err
		}
	}
	if s.ended || s.busy() || s.throttled {
		w.parked[i] = true
		return w.slot.poller.remove(s.file)
	}
	return nil
}

// resumeOutputs polls a stream again that may be read again: its caller has taken the last chunk, or its
// throttling is over.
func (w *supervisor) resumeOutputs() error {
	for i := range w.out {
		s := &w.out[i]
		if w.parked[i] && !s.ended && !s.busy() && !s.throttled {
			w.parked[i] = false
			if err := w.slot.poller.add(s.file, unix.EPOLLIN, tagStdout+int32(i)); err != nil {
				return err
			}
		}
	}
	return nil
}

// drain reads what the dead program left in the pipes, which the size of the pipes limits. It goes
// to memory: waiting for a caller that reads nothing would hold the slot. What an exec leaves
// running may go on writing for ever, so at most the capacity of its pipes is read.
func (w *supervisor) drain() error {
	for i := range w.out {
		from, held := w.out[i].total, int64(math.MaxInt64)
		if w.shell.exec != nil {
			n, err := unix.FcntlInt(uintptr(fd(w.out[i].file)), unix.F_GETPIPE_SZ, 0)
			if err != nil {
				return os.NewSyscallError("fcntl F_GETPIPE_SZ", err)
			}
			held = int64(n)
		}
		for w.out[i].total-from < held {
			more, err := w.out[i].read(w.slot.chunk[:], true)
			if err != nil {
				return err
			}
			if !more {
				break
			}
		}
		if w.out[i].over() {
			w.ev.OutputFull = true
		}
	}
	if w.ev.OutputFull && w.shell.exec != nil {
		return w.shell.killProcesses(killTimeout) // if a limit stops an exec, all its processes are stopped
	}
	return nil
}
