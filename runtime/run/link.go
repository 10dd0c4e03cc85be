package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/runtime/linux"
	"github.com/brig-sandbox/brig/runtime/pool"
)

// A link joins a program and an interactor. The interactor gets the agent's ends of the program's pipes as
// its stdin and stdout, so that no byte passes through the agent. The agent keeps copies of ends, so that
// neither program learns of the other's end before the other has ended:
//
//   - The write end of the program's stdout is also the program's shell's, until the program has ended.
//   - The write end of the program's stdin is also the agent's, until the interactor has ended. If its end
//     closed the pipe, the program could fail of that before the interactor is seen to have ended.
//   - The read end of the program's stdout is also the agent's: a program that writes after the interactor
//     has accepted gets no SIGPIPE, and the agent then reads what it writes.
//   - The read end of the program's stdin is also the agent's: an interactor that writes to a program that
//     has ended gets no SIGPIPE, and the agent then reads what it writes.
type link struct {
	toProgram, fromProgram *os.File // the agent's ends of the program's pipes, of its shell
	unread                 *os.File // another read end of the program's stdin

	started chan struct{} // closed when the interactor has started, or never will
	once    sync.Once     // closes started

	mu    sync.Mutex
	ended [2]*programEnd // guarded by mu; nil: it has not ended
	wake  [2]func()      // guarded by mu; nil: its supervisor does not wait
	over  chan struct{}  // closed when the interactor's lease has ended
}

// The two ends of a link.
const (
	programEndIndex = iota
	interactorEndIndex
)

// A programEnd says how one of two linked programs ended.
type programEnd struct {
	at       time.Duration // on the monotonic clock of the kernel; zero: it did not start
	stopped  bool          // by the agent
	exitCode int           // -1: a signal
}

// A linkEnd is a link as one of its two supervisors sees it.
type linkEnd struct {
	*link
	which       int
	accepts     func(exitCode int) bool // of the program's: whether the interactor's exit code lets the program go on
	grace       time.Duration           // of the interactor's: what it has left when the program was stopped
	readsOutput bool                    // of the program's: the interactor has ended, and the agent reads stdout
	discards    bool                    // of the interactor's: the program has ended, and the agent reads its stdin
	otherSeen   bool
}

// pipeBytes is the capacity of the pipes of a link, as far as the kernel allows it.
const pipeBytes = 1 << 20

// newLink joins a program in one leased cell with an interactor in another.
func newLink(program *pool.Lease) (_ *link, err error) {
	sh := program.Prepared.Shell
	l := &link{toProgram: sh.Stdin, fromProgram: sh.Stdout, started: make(chan struct{}), over: make(chan struct{})}
	for _, f := range []*os.File{l.toProgram, l.fromProgram} {
		// The ends are the interactor's stdin and stdout: it expects reads and writes that wait.
		if err := unix.SetNonblock(linux.FD(f), false); err != nil {
			return nil, os.NewSyscallError("set a pipe to blocking", err)
		}
		_, _ = unix.FcntlInt(uintptr(linux.FD(f)), unix.F_SETPIPE_SZ, pipeBytes) // a pipe of the default size works, too
	}
	fd, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", linux.FD(l.toProgram)), unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("open another end of a pipe", err)
	}
	l.unread = os.NewFile(uintptr(fd), "pipe")
	return l, nil
}

func (l *link) close() error { return l.unread.Close() }

// files are the descriptors that the interactor starts with. The program first waits for the interactor.
func (e *linkEnd) files(ctx context.Context) ([]*os.File, error) {
	switch {
	case e == nil:
		return nil, nil
	case e.which == interactorEndIndex:
		return []*os.File{e.fromProgram, e.toProgram}, nil
	}
	select {
	case <-e.started:
		return nil, nil
	case <-ctx.Done():
		return nil, api.Fail(api.CodeStopping, "canceled before the program began: %w", ctx.Err())
	}
}

// begun reports that the interactor has started: the program waits for it.
func (e *linkEnd) begun() {
	if e != nil && e.which == interactorEndIndex {
		e.once.Do(func() { close(e.started) })
	}
}

// attach makes the end of the other one wake w.
func (e *linkEnd) attach(w *supervisor) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.wake[e.which] = w.Slot.Wake.Wake
	if e.ended[1-e.which] != nil {
		w.Slot.Wake.Wake()
	}
	return nil
}

// detach is the opposite of attach: the slot's next run must not be woken.
func (e *linkEnd) detach(p *linux.Poller) error {
	if e == nil {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.wake[e.which] = nil
	if e.discards {
		return p.Remove(e.unread)
	}
	return nil
}

// end records how a program ended, and wakes the other one's supervisor.
func (e *linkEnd) end(how programEnd) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.wake[e.which] = nil
	if e.ended[e.which] == nil {
		e.ended[e.which] = &how
	}
	if wake := e.wake[1-e.which]; wake != nil {
		wake()
	}
}

// afterSteps is called at the end of a linked run, while its lease lasts. The program's lease lasts as long as
// the interactor's: otherwise another run would begin on the processor that the interactor uses.
func (e *linkEnd) afterSteps(l *pool.Lease) error {
	if e == nil {
		return nil
	}
	if e.which == interactorEndIndex {
		return e.detach(l.Slot().Poller)
	}
	err := l.Prepared.Shell.Kill() // its copy of the pipe would keep the interactor waiting
	<-e.over
	return err
}

// interactorOver is called when the interactor's lease has ended, however it ended.
func (e *linkEnd) interactorOver() {
	e.end(programEnd{exitCode: -1}) // if it did not start
	e.begun()
	close(e.over)
}

// other returns how the other one ended; nil: it has not.
func (e *linkEnd) other() *programEnd {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.ended[1-e.which]
}

// reportEnd reports the end of a linked program.
func (w *supervisor) reportEnd() {
	if w.link == nil {
		return
	}
	how := programEnd{stopped: w.stopped, exitCode: -1}
	if w.replied {
		how.at = time.Duration(w.reply.ExitNs)
		if ws := unix.WaitStatus(w.reply.Status); ws.Exited() {
			how.exitCode = ws.ExitStatus()
		}
	}
	w.link.end(how)
}

// onOtherEnd reacts to the end of the other one of two linked programs.
func (w *supervisor) onOtherEnd() error {
	if w.link == nil || w.link.otherSeen || w.finished() {
		return nil
	}
	how := w.link.other()
	if how == nil {
		return nil
	}
	w.link.otherSeen = true
	if w.link.which == interactorEndIndex {
		if how.stopped {
			if err := w.Slot.Wall.Set(linux.Monotonic() + w.link.grace); err != nil {
				return err
			}
			w.limits.Wall = min(w.limits.Wall, api.Duration(linux.Monotonic()+w.link.grace-w.started))
		}
		w.link.discards = true
		return w.Slot.Poller.Add(w.link.unread, linux.PollIn, tagDiscard)
	}
	if !w.link.accepts(how.exitCode) { // whatever the program does now changes nothing
		return w.stop()
	}
	w.link.readsOutput, w.parked[0] = true, false
	return errors.Join(w.Shell.Stdin.Close(), unix.SetNonblock(linux.FD(w.Shell.Stdout), true), w.Slot.Poller.Add(w.Shell.Stdout, linux.PollIn, tagStdout))
}

// discard reads what an interactor wrote to a program that has ended.
func (e *linkEnd) discard(buf []byte) error {
	_, err := unix.Read(linux.FD(e.unread), buf)
	if err != nil && !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR) {
		return os.NewSyscallError("read a pipe", err)
	}
	return nil
}
