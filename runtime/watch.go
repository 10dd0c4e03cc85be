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

// The tags of what a watch waits for.
const (
	tagReply int32 = iota
	tagShell
	tagStdin
	tagStdout
	tagStderr
	tagWall
	tagCPU
	tagRest
	tagOOM
	tagNotify
	tagPace
	tagWake
)

// killPatience is how long a killed program gets until its shell is killed too.
// The shell's report is worth the wait: it has the exit time and the usage.
const killPatience = 200 * time.Millisecond

// maxLogged bounds Result.Logged: a program can make calls of any number.
const maxLogged = 256

// A watch follows one started run to its end. It owns no descriptor; the slot's
// poller, timers and wake event are its to use meanwhile.
type watch struct {
	slot   *slot
	cell   *cell
	shell  *shell
	limits api.Limits
	filter *filter
	placed api.Size // memory of the inputs, which counts as the run's

	started time.Duration // when the start message went out
	stdin   []byte        // still to be written
	out     *outputs
	live    *live   // nil: nobody wants to see what it uses meanwhile
	parked  [2]bool // not polled: ended, or the caller takes nothing

	ev      api.Evidence
	logged  []api.Denial
	refused refusals
	calls   listening
	locks   lockRoom
	own     ownFiles
	reply   wireReply
	replied bool  // the shell reported the program's end
	failed  error // the shell reported a step that failed
	gone    bool  // the shell has ended

	oom      int           // looks left for the kill that an OOM event announced
	stopped  bool          // we ended the run
	killed   time.Duration // when SIGKILL had gone out, on the monotonic clock
	patience time.Duration // when stopped: until when the shell may still report
}

// run waits until the program has ended, ending it when a limit says so. When it
// returns without an error, either the shell has reported or it is gone.
func (w *watch) run(ctx context.Context) error {
	stop := context.AfterFunc(ctx, w.slot.wake.wake)
	defer stop()
	if err := w.arm(); err != nil {
		return err
	}
	for !w.over() {
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

// over reports whether the end of the program is known.
func (w *watch) over() bool { return w.replied || w.failed != nil || w.gone }

// ended asks for what the shell may have said since the last look: an agent that is late
// finds the end of the program and a clock that rang after it at the same time.
func (w *watch) ended() (bool, error) {
	if w.over() {
		return true, nil
	}
	err := w.onReply()
	return w.over(), err
}

// arm sets both clocks, as if the program had started with the message. When the
// wall clock rings, the cell's clock page tells when it really did.
func (w *watch) arm() error {
	return errors.Join(w.slot.wall.set(w.started+time.Duration(w.limits.Wall)), w.armCPU(0))
}

// startPatience is how long a program may take to be started, beyond its limit of
// wall time, on a host too busy for words.
const startPatience = 10 * time.Second

// armCPU sets the next look at the cpu time: it cannot reach the limit before
// every allowed processor has run for its share of what is left.
func (w *watch) armCPU(used time.Duration) error {
	left := time.Duration(w.limits.CPU) - used
	return w.slot.cpu.set(monotonic() + max(time.Duration(float64(left)/w.slot.parallel(w.limits)), 200*time.Microsecond))
}

func (w *watch) handle(ctx context.Context, e unix.EpollEvent) error {
	switch e.Fd {
	case tagReply:
		return w.onReply()
	case tagShell:
		w.gone = true
		return w.onReply() // what it said last is still in the socket
	case tagStdin:
		return w.onStdin(e.Events)
	case tagStdout, tagStderr:
		return w.onOutput(int(e.Fd - tagStdout))
	case tagWall:
		return w.onWall()
	case tagCPU:
		return w.onCPU()
	case tagRest:
		return w.onRest()
	case tagOOM:
		return w.onOOM()
	case tagNotify:
		return w.onNotify(e.Events)
	case tagPace:
		return w.calls.goOn()
	case tagWake:
		w.slot.wake.clear()
		if ctx.Err() != nil && !w.stopped {
			w.ev.Canceled = true
			return w.stop()
		}
		if err := w.look(); err != nil {
			return err
		}
		if v := w.shell.visit; v != nil {
			if d := v.calls.denial(); d != nil {
				if err := w.onDenial(*d); err != nil {
					return err
				}
			}
		}
		return w.unpark()
	}
	return nil
}

func (w *watch) onReply() error {
	buf := make([]byte, wireReplySize)
	_, err := recvOnce(fd(w.shell.sock.file), buf)
	if errors.Is(err, unix.ECONNRESET) { // said once, ahead of the words that are still in the socket
		_, err = recvOnce(fd(w.shell.sock.file), buf)
	}
	switch {
	case errors.Is(err, unix.EAGAIN):
		return nil
	case errors.Is(err, io.EOF), errors.Is(err, unix.ECONNRESET):
		w.gone = true
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

// stop ends the run: every process of the group at once, where the kernel can,
// and the shell only if it does not report soon after.
func (w *watch) stop() error {
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
	w.shell.hasten()
	w.patience = monotonic() + killPatience
	return w.slot.wall.set(w.patience)
}

func (w *watch) onWall() error {
	w.slot.wall.drain()
	if w.stopped {
		return w.shell.kill()
	}
	if ended, err := w.ended(); err != nil || ended {
		return err
	}
	at := monotonic()
	exec := w.shell.clock.exec()
	switch due := exec + time.Duration(w.limits.Wall); {
	case exec == 0 && at < w.started+time.Duration(w.limits.Wall)+startPatience:
		return w.slot.wall.set(at + time.Millisecond)
	case exec == 0 && w.shell.visit == nil:
		return fmt.Errorf("the program was not started within %s", startPatience)
	case at < due:
		return w.slot.wall.set(due)
	}
	// In a session, processes of the same user may have stopped the child before it
	// became the program: that is the session's doing and costs it the exec.
	w.ev.WallExpired = true
	return w.stop()
}

func (w *watch) onCPU() error {
	w.slot.cpu.drain()
	if w.stopped {
		return nil
	}
	if w.oom > 0 {
		return w.lookOOM()
	}
	used, err := w.shell.leaf.CPUTime()
	if err != nil {
		return err
	}
	if used > time.Duration(w.limits.CPU) {
		return w.stop() // the verdict follows from the final figure, which is larger
	}
	return w.armCPU(used)
}

// onOOM ends the whole group when the kernel has killed a part of it: what
// remains of a program without one of its processes says nothing. On v2 the
// kernel does the same by itself (memory.oom.group).
func (w *watch) onOOM() error {
	if err := w.shell.leaf.DrainOOM(); err != nil || w.stopped {
		return err
	}
	w.oom = oomLooks
	return w.lookOOM()
}

// lookOOM asks whether the kernel has killed. Version 1 tells before it does, so
// a look that finds nothing is repeated a few times, a millisecond apart.
func (w *watch) lookOOM() error {
	u, err := w.shell.leaf.Usage()
	switch {
	case err != nil:
		return err
	case u.OOMKills > 0:
		return w.stop()
	}
	w.oom--
	return w.slot.cpu.set(monotonic() + time.Millisecond)
}

const oomLooks = 20

// onStdin writes what the pipe takes. A program that closed its end, or has
// ended, has no more use for the rest.
func (w *watch) onStdin(events uint32) error {
	if err := w.feed(); err != nil {
		return err
	}
	if len(w.stdin) > 0 && events&unix.EPOLLERR != 0 {
		w.stdin = nil
	}
	if len(w.stdin) == 0 {
		return errors.Join(w.slot.poller.drop(w.shell.stdin), w.shell.stdin.Close())
	}
	return nil
}

// feed writes to the program's stdin without waiting.
func (w *watch) feed() error {
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

// onOutput reads one chunk. A stream that ended, or whose caller does not take
// the last chunk yet, is not polled until something changes.
func (w *watch) onOutput(i int) error {
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
		if err := w.rest(s, s.total-before); err != nil {
			return err
		}
	}
	if s.ended || s.busy() || s.resting {
		w.parked[i] = true
		return w.slot.poller.drop(s.file)
	}
	return nil
}

// unpark polls a stream again whose caller has taken what it was given.
func (w *watch) unpark() error {
	for i := range w.out {
		s := &w.out[i]
		if w.parked[i] && !s.ended && !s.busy() && !s.resting {
			w.parked[i] = false
			if err := w.slot.poller.add(s.file, unix.EPOLLIN, tagStdout+int32(i)); err != nil {
				return err
			}
		}
	}
	return nil
}

// drain takes what the dead program left in the pipes, which their size bounds. It
// goes to memory: waiting for a caller who takes nothing would hold the slot. What an
// exec leaves running may write on, for ever: of its pipes no more is taken than they
// hold.
func (w *watch) drain() error {
	for i := range w.out {
		from, held := w.out[i].total, int64(math.MaxInt64)
		if w.shell.visit != nil {
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
	if w.ev.OutputFull && w.shell.visit != nil {
		return w.shell.clear(deathTime) // an exec that a limit stops is stopped whole
	}
	return nil
}
