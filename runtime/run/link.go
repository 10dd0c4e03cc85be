package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/runtime/linux"
	"github.com/brig-sandbox/brig/runtime/outputs"
	"github.com/brig-sandbox/brig/runtime/pool"
)

// A link joins an interactor with the programs that it talks with, each over a channel. No byte passes
// through the agent. It keeps ends of the pipes, so that neither side learns of the other's end before the
// other has ended:
//
//   - The write end of what a program writes is also the program's shell's or the agent's, until the program
//     has ended.
//   - The write end of what a program reads is also the agent's, until the interactor has ended. If its end
//     closed the pipe, the program could fail of that before the interactor is seen to have ended.
//   - The read end of what a program writes is also the agent's: a program that writes after the interactor
//     has accepted gets no SIGPIPE, and the agent then reads what it writes.
//   - The read end of what a program reads is also the agent's: an interactor that writes to a program that
//     has ended gets no SIGPIPE, and the agent then reads what it writes.
type link struct {
	channels []*channel // one for each program
	how      linking

	started chan struct{} // closed when the interactor has started, or never will
	once    sync.Once     // closes started

	interactor interactorTime

	mu    sync.Mutex
	ended []*programEnd // guarded by mu; of each program, then of the interactor; nil: it has not ended
	wake  []func()      // guarded by mu; nil: its supervisor does not wait

	over   chan struct{}  // closed when the interactor's lease has ended
	others sync.WaitGroup // until the leases of the interactor and of all programs but the first have ended
}

// A linking says how the two sides have the pipes.
type linking struct {
	manager bool // the interactor opens them by name; false: those of the only program are its stdin and stdout
	byName  bool // the programs open them by name, too; false: they are their stdin and stdout
}

// A programEnd says how one of the linked programs ended.
type programEnd struct {
	at       time.Duration // on the monotonic clock of the kernel; zero: it did not start
	stopped  bool          // by the agent, before it ended by itself
	exitCode int           // -1: a signal
}

// A linkEnd is a link as one of its supervisors sees it.
type linkEnd struct {
	*link
	which   int                     // index of the program; interactor: as many as there are programs
	cancel  func()                  // of a program's: ends all others
	accepts func(exitCode int) bool // of a program's: whether the interactor's exit code lets the program go on
	grace   time.Duration           // of the interactor's: what it has left when a program was stopped

	readsOutput bool               // of a program's: the interactor has ended, and the agent reads stdout
	discards    []*os.File         // what the agent reads because the side that should has ended
	small       outputs.SmallReads // of these
	throttled   bool               // these are not polled until the slot's throttle timer expires
	seen        []bool             // of each program, then of the interactor: its end
}

// newLink joins programs with an interactor.
func newLink(programs []*pool.Lease, how linking) (_ *link, err error) {
	n := len(programs)
	l := &link{how: how, started: make(chan struct{}), over: make(chan struct{}), ended: make([]*programEnd, n+1),
		wake: make([]func(), n+1)}
	l.others.Add(n)
	defer func() {
		if err != nil {
			err = errors.Join(err, l.close())
		}
	}()

	for _, p := range programs {
		c, err := newChannel(p.Prepared.Shell, how)
		if err != nil {
			return nil, err
		}
		l.channels = append(l.channels, c)
	}

	return l, nil
}

func (l *link) close() (err error) {
	for _, c := range l.channels {
		err = errors.Join(err, c.close())
	}
	return err
}

// end returns the link as program i sees it, or the interactor, which is the last.
func (l *link) end(i int) *linkEnd {
	return &linkEnd{link: l, which: i, seen: make([]bool, len(l.ended))}
}

func (e *linkEnd) isInteractor() bool { return e.which == len(e.channels) }

// hasStdio reports whether stdin and stdout of this side are pipes of the link, and not the agent's.
func (e *linkEnd) hasStdio() bool {
	switch {
	case e == nil:
		return false
	case e.isInteractor():
		return !e.how.manager
	}
	return !e.how.byName
}

// files are the descriptors that this side starts with: its stdin and stdout, unless they are its shell's,
// and pipes that it opens by name. The programs first wait for the interactor.
func (e *linkEnd) files(ctx context.Context) (stdio, named []*os.File, err error) {
	switch {
	case e == nil:
		return nil, nil, nil
	case e.isInteractor() && !e.how.manager:
		return []*os.File{e.channels[0].fromProgram, e.channels[0].toProgram}, nil, nil
	case e.isInteractor():
		for _, c := range e.channels {
			named = append(named, c.outHandle, c.inHandle)
		}
		return nil, named, nil
	}

	select {
	case <-e.started:
	case <-ctx.Done():
		return nil, nil, api.Fail(api.CodeStopping, "canceled before the program began: %w", ctx.Err())
	}

	if c := e.channels[e.which]; e.how.byName {
		named = []*os.File{c.inHandle, c.outHandle}
	}
	return nil, named, nil
}

// begun reports that the interactor has started: the programs wait for it.
func (e *linkEnd) begun() {
	if e != nil && e.isInteractor() {
		e.once.Do(func() { close(e.started) })
	}
}

// attach makes the end of another one wake w.
func (e *linkEnd) attach(w *supervisor) {
	if e == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.wake[e.which] = w.Slot.Wake.Wake
	if e.isInteractor() {
		e.interactor.begin(w.Shell.Leaf)
	}
	if slices.ContainsFunc(e.ended, func(how *programEnd) bool { return how != nil }) {
		w.Slot.Wake.Wake()
	}
}

// detach is the opposite of attach: the slot's next run must not be woken.
func (e *linkEnd) detach(p *linux.Poller) (err error) {
	if e == nil {
		return nil
	}

	e.mu.Lock()
	e.wake[e.which] = nil
	e.mu.Unlock()
	if e.isInteractor() {
		err = e.interactor.end()
	}

	for _, f := range e.discards {
		err = errors.Join(err, p.Remove(f))
	}
	return err
}

// report records how this one ended, and wakes the supervisors of the others.
func (e *linkEnd) report(how programEnd) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.wake[e.which] = nil
	if e.ended[e.which] == nil {
		e.ended[e.which] = &how
	}
	for _, wake := range e.wake {
		if wake != nil {
			wake()
		}
	}
}

// afterSteps is called at the end of a linked run, while its lease lasts. A program's lease lasts as long as
// the interactor's, and that of the first one, which has the slot, as long as all: otherwise another run would
// begin on the processor that they use.
func (e *linkEnd) afterSteps(l *pool.Lease) error {
	if e == nil || e.isInteractor() {
		return e.detach(l.Slot().Poller)
	}
	err := e.channels[e.which].programOver(l.Prepared.Shell)
	<-e.over
	if e.which == 0 {
		e.others.Wait()
	}
	return err
}

// failed is called when a program could not be executed, or did not begin from its template, while its lease lasts:
// the interactor has nobody to talk with. The lease of the first one has the memory of all, so it lasts as long as
// theirs.
func (e *linkEnd) failed() {
	if e == nil || e.isInteractor() {
		return
	}
	e.cancel()
	if e.which == 0 {
		<-e.over
		e.others.Wait()
	}
}

// leaseOver is called when the lease of the interactor, or of another program than the first, has ended,
// however it ended.
func (e *linkEnd) leaseOver() {
	e.report(programEnd{exitCode: -1}) // if it did not start
	if e.isInteractor() {
		e.begun()
		close(e.over)
	}
	e.others.Done()
}

// newEnds returns those that have ended since the last call, by their index.
func (e *linkEnd) newEnds() map[int]programEnd {
	e.mu.Lock()
	defer e.mu.Unlock()
	ends := map[int]programEnd{}
	for i, how := range e.ended {
		if how != nil && i != e.which && !e.seen[i] {
			ends[i], e.seen[i] = *how, true
		}
	}
	return ends
}

// reportEnd reports the end of a linked program. One that was stopped ended when it was killed: with much memory
// its shell reports late, or is killed before it can. The word of a manager that comes in between is not the first.
// One whose shell the kernel killed with it has ended by now.
func (w *supervisor) reportEnd() {
	if w.link == nil {
		return
	}

	how := programEnd{stopped: w.stopped, exitCode: -1}
	if w.replied {
		how.at = time.Duration(w.reply.ExitNs)
		ws := unix.WaitStatus(w.reply.Status)
		if ws.Exited() {
			how.exitCode = ws.ExitStatus()
		}
		how.stopped = w.stopped && ws.Signal() == unix.SIGKILL // else it was as fast
	}

	if w.stopped && (how.at == 0 || w.killed < how.at) {
		how.at = w.killed
	}

	how.at = cmp.Or(how.at, linux.Monotonic())
	w.link.report(how)
}

// onOtherEnd reacts to the ends of others.
func (w *supervisor) onOtherEnd() error {
	if w.link == nil || w.finished() {
		return nil
	}

	for i, how := range w.link.newEnds() {
		var err error
		switch {
		case w.link.isInteractor():
			err = w.onProgramEnd(w.link.channels[i], how)
		case i == len(w.link.channels):
			err = w.onInteractorEnd(how)
		}
		if err != nil {
			return err
		}
	}

	return nil
}

// onProgramEnd has the interactor end soon if a limit has stopped the program, and reads what it still writes.
func (w *supervisor) onProgramEnd(c *channel, how programEnd) error {
	until := linux.Monotonic() + w.link.grace
	if how.stopped && api.Duration(until-w.started) < w.limits.Wall {
		if err := w.Slot.Wall.Set(until); err != nil {
			return err
		}
		w.limits.Wall = api.Duration(until - w.started)
	}
	return w.discard(c.unread)
}

// onInteractorEnd ends the program, or lets it read to the end and write on.
func (w *supervisor) onInteractorEnd(how programEnd) error {
	if !w.link.accepts(how.exitCode) { // whatever the program does now changes nothing
		return w.stop()
	}
	c := w.link.channels[w.link.which]
	if !w.link.hasStdio() {
		return errors.Join(c.toProgram.Close(), unix.SetNonblock(linux.FD(c.fromProgram), true), w.discard(c.fromProgram))
	}
	w.link.readsOutput, w.parked[0] = true, false
	return errors.Join(c.toProgram.Close(), unix.SetNonblock(linux.FD(c.fromProgram), true),
		w.Slot.Poller.Add(c.fromProgram, linux.PollIn, tagStdout))
}

// discard has the agent read a pipe whose reader has ended.
func (w *supervisor) discard(f *os.File) error {
	w.link.discards = append(w.link.discards, f)
	if w.link.throttled {
		return nil
	}
	return w.Slot.Poller.Add(f, linux.PollIn, tagDiscard)
}

// onDiscard reads what nobody else reads, as seldom as output: a program with pipes by name whose manager has ended
// may write bytes one by one, as long as its limits let it.
func (w *supervisor) onDiscard() error {
	n, err := w.link.discardSome(w.Slot.Chunk)
	if err != nil || !w.link.small.Add(int64(n)) {
		return err
	}

	w.link.throttled = true
	for _, f := range w.link.discards {
		err = errors.Join(err, w.Slot.Poller.Remove(f))
	}
	return errors.Join(err, w.Slot.Throttle.Set(linux.Monotonic()+outputs.ThrottleTime))
}

// resumeDiscards polls these pipes again.
func (w *supervisor) resumeDiscards() (err error) {
	if w.link == nil || !w.link.throttled {
		return nil
	}
	w.link.throttled = false
	for _, f := range w.link.discards {
		err = errors.Join(err, w.Slot.Poller.Add(f, linux.PollIn, tagDiscard))
	}
	return err
}

// discardSome reads a piece of each pipe that nobody else reads, and returns how much it was.
func (e *linkEnd) discardSome(buf []byte) (total int, err error) {
	for _, f := range e.discards {
		n, err := unix.Read(linux.FD(f), buf)
		if err != nil && !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR) {
			return total, fmt.Errorf("read a pipe: %w", err)
		}
		total += max(n, 0)
	}
	return total, nil
}
