package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/judge"
	"github.com/brig-sandbox/brig/runtime/calls"
	"github.com/brig-sandbox/brig/runtime/cell"
	"github.com/brig-sandbox/brig/runtime/linux"
	"github.com/brig-sandbox/brig/runtime/outputs"
	"github.com/brig-sandbox/brig/runtime/plan"
	"github.com/brig-sandbox/brig/runtime/pool"
)

// The tags of the events that a supervisor waits for, in addition to those of its slot.
const (
	tagReply int32 = pool.FirstFreeTag + iota
	tagShell
	tagStdin
	tagStdout
	tagStderr
	tagOOM
	tagNotify
	tagTimeline
	tagDiscard
	tagControl
)

// killGrace is the time between killing a program and killing its shell. In this time the shell
// reports the exit time and the usage of the program.
const killGrace = 200 * time.Millisecond

// A supervisor follows one started run to its end. It owns no descriptor: it uses the poller, the
// timers and the wake event of the slot.
type supervisor struct {
	Place
	limits api.Limits
	filter *cell.Filter
	placed api.Size // memory of the inputs, which counts as memory of the run

	started time.Duration // when the start message went out
	stdin   []byte        // still to be written

	resident bool // it waits for hours
	terminal bool // stdout is the master of the program's terminal, not a pipe
	out      *outputs.Streams
	control  *control // nil: the program has none
	parked   [2]bool  // for stdout and stderr: it is not polled, because it ended, is throttled, or the caller has not taken the last chunk

	ev         judge.Evidence
	logged     []api.Denial
	refused    calls.Refusals
	calls      calls.CallListener
	quotas     calls.Quotas
	own        calls.OwnFiles
	reply      cell.Reply
	replied    bool  // the shell reported the program's end
	failed     error // the shell reported a step that failed
	shellEnded bool  // the shell has ended

	timeline *timelineTimer // nil: the caller wants no timeline
	link     *linkEnd       // nil: the program talks with the agent
	left     *leftProcesses // nil: the main process runs, or has left none

	wallAt         time.Duration // when the wall timer is due
	late           time.Duration // the longest time by which it was noticed late
	oomChecks      int           // remaining checks for the kill that an OOM event announced
	stopped        bool          // the agent ended the run
	killed         time.Duration // when SIGKILL was sent, on the monotonic clock
	reportDeadline time.Duration // when stopped: until then the shell may still report
}

// run waits until the program has ended, and what it left may write no more. It ends the program when a limit is
// exceeded or ctx is done. If run returns no error, the shell has reported or has ended.
func (w *supervisor) run(ctx context.Context) error {
	woken := make(chan struct{})
	stop := context.AfterFunc(ctx, func() { defer close(woken); w.Slot.Wake.Wake() })
	defer func() {
		if !stop() {
			<-woken // the slot of a resident is closed after this
		}
	}()
	if err := w.arm(); err != nil {
		return err
	}
	if err := w.follow(ctx); err != nil {
		return err
	}
	return w.awaitWriters(ctx)
}

// follow handles events until the run has ended.
func (w *supervisor) follow(ctx context.Context) error {
	for !w.finished() {
		events, err := w.Slot.Poller.Wait()
		if err != nil {
			return err
		}
		for _, e := range events {
			if err := w.handle(ctx, e); err != nil {
				return err
			}
		}
	}

	w.noteLate()
	return nil
}

// finished reports whether the end of the program is known, and that of the processes that it left if they are
// waited for.
func (w *supervisor) finished() bool {
	if w.left != nil {
		return w.stopped || w.shellEnded && w.Session == nil || w.left.idle || w.out.Ended()
	}
	return w.replied || w.failed != nil || w.shellEnded
}

// checkFinished reads what the shell may have sent since the last event, and reports whether the
// end of the program is known. If the agent was delayed, the program may have ended before the
// clock expired, although the agent sees the clock first.
func (w *supervisor) checkFinished() (bool, error) {
	if w.finished() {
		return true, nil
	}
	err := w.onReply()
	return w.finished(), err
}

// arm sets both clocks as if the program had started when the start message was sent. The program
// starts a little later. When the wall clock expires, onWall reads the actual start from the cell's
// clock page.
func (w *supervisor) arm() error {
	return errors.Join(w.setWall(w.started, w.started+time.Duration(w.limits.Wall)), w.armCPU(0), w.armTimeline())
}

// setWall sets the wall timer to a time, or to the next check before it.
func (w *supervisor) setWall(now, at time.Duration) error {
	interval := watchInterval
	if w.resident {
		interval = residentInterval
	}
	w.wallAt = min(at, now+interval)
	return w.Slot.Wall.Set(w.wallAt)
}

// startGrace is the time for the start of a program, in addition to its wall limit. On an
// overloaded host the start can take long.
const startGrace = 10 * time.Second

// armCPU sets the time of the next check of the cpu time. used is the cpu time so far. The run
// cannot reach its limit earlier, even if it uses all of its processors without a pause.
func (w *supervisor) armCPU(used time.Duration) error {
	remaining := time.Duration(w.limits.CPU) - used
	next := max(time.Duration(float64(remaining)/w.Slot.Parallel(w.limits)), 200*time.Microsecond)
	if w.left != nil {
		next = min(next, idleTime)
	}
	return w.Slot.CPU.Set(linux.Monotonic() + next)
}

func (w *supervisor) handle(ctx context.Context, e unix.EpollEvent) error {
	switch e.Fd {
	case tagReply:
		return w.onReply()
	case tagShell:
		w.shellEnded = true
		return w.onReply() // its last message may still be in the socket
	case tagStdin:
		return w.onStdin(e.Events)
	case tagStdout, tagStderr:
		return w.onOutput(int(e.Fd - tagStdout))
	case pool.TagWall:
		return w.onWall()
	case pool.TagCPU:
		return w.onCPU()
	case pool.TagThrottle:
		return w.onThrottleEnd()
	case tagOOM:
		return w.onOOM()
	case tagNotify:
		return w.onNotify(e.Events)
	case tagTimeline:
		return w.onTimeline()
	case tagDiscard:
		return w.onDiscard()
	case tagControl:
		return w.onControl()
	case pool.TagCallTimer:
		return w.calls.Resume()
	case pool.TagWake:
		w.Slot.Wake.Clear()
		if ctx.Err() != nil && !w.stopped {
			w.ev.Canceled = true
			return w.stop()
		}
		if err := w.onOtherEnd(); err != nil {
			return err
		}
		if err := w.sampleUsage(); err != nil {
			return err
		}
		if v := w.Session; v != nil {
			if d := v.Denial(); d != nil {
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
	reply, ok, err := w.Shell.Report()
	var step *cell.StepError
	switch {
	case errors.Is(err, io.EOF):
		w.shellEnded = true
	case errors.As(err, &step):
		w.failed = step
	case err != nil:
		return err
	case ok:
		w.reply, w.replied = reply, true
	}

	return nil
}

// stop ends the run. It kills all processes of the group. The shell has killGrace to report; then
// onWall kills the shell. If the kernel cannot kill the group, stop kills the shell at once.
func (w *supervisor) stop() error {
	if w.stopped {
		return nil
	}

	w.stopped = true
	var err error
	if w.ev.FilesHit, err = calls.AtDescriptorLimit(w.Shell.Leaf.Dir(), w.limits.OpenFiles); err != nil {
		return err
	}

	err = w.Shell.Leaf.Kill()
	w.killed = linux.Monotonic()
	if err != nil {
		return w.Shell.Kill() // without cgroup.kill: a run's pid namespace ends with the shell, which is its init
	}

	w.Shell.Expedite()
	w.reportDeadline = linux.Monotonic() + killGrace
	return w.Slot.Wall.Set(w.reportDeadline)
}

func (w *supervisor) onWall() error {
	w.Slot.Wall.Drain()
	if w.stopped {
		return w.Shell.Kill()
	}

	w.noteLate()
	if ended, err := w.checkFinished(); err != nil || ended {
		return err
	}

	uncounted, err := w.link.uncounted()
	if err != nil {
		return err
	}

	at, exec := linux.Monotonic(), w.Shell.Clock.Exec()
	switch due := exec + time.Duration(w.limits.Wall) + uncounted; {
	case exec == 0 && at < w.started+time.Duration(w.limits.Wall)+startGrace:
		return w.setWall(at, at+time.Millisecond)
	case exec == 0 && w.Session == nil:
		return fmt.Errorf("the program was not started within %s", startGrace)
	case at < due && uncounted > 0: // the interactor may compute on, and each check reads its time
		return w.setWall(at, max(due, at+time.Millisecond))
	case at < due:
		return w.setWall(at, due)
	case w.left != nil && w.Session != nil: // the main process ended in time: those that it left belong to the session
		w.left.idle = true
		return nil
	}

	// The time is over. Or this is an exec whose program has not started yet: other processes of the
	// session have the same user, and may have stopped the process that becomes the program. The
	// session itself caused that, so this exec ends with the wall limit, too.
	w.ev.WallExpired = true
	return w.stop()
}

func (w *supervisor) onCPU() error {
	w.Slot.CPU.Drain()
	if w.stopped {
		return nil
	}
	if w.oomChecks > 0 {
		return w.checkOOM()
	}

	used, err := w.Shell.Leaf.CPUTime()
	if err != nil {
		return err
	}
	if used > time.Duration(w.limits.CPU) {
		return w.stop() // the verdict depends on the final value, which is larger
	}
	if w.left != nil {
		return w.checkLeft(used)
	}
	return w.armCPU(used)
}

// onOOM ends the whole run if the kernel has killed one of its processes, because the result of the
// others means nothing then. On v2 the kernel itself kills the whole group (memory.oom.group).
func (w *supervisor) onOOM() error {
	if err := w.Shell.Leaf.DrainOOM(); err != nil || w.stopped {
		return err
	}
	w.oomChecks = maxOOMChecks
	return w.checkOOM()
}

// checkOOM stops the run if the kernel has killed a process. Version 1 sends the event before it
// kills. So if no process was killed yet, the cpu timer repeats the check after a millisecond, for
// at most maxOOMChecks checks.
func (w *supervisor) checkOOM() error {
	u, err := w.Shell.Leaf.Usage()
	switch {
	case err != nil:
		return err
	case u.OOMKills > 0:
		return w.stop()
	}
	w.oomChecks--
	return w.Slot.CPU.Set(linux.Monotonic() + time.Millisecond)
}

const maxOOMChecks = 20

// onStdin writes as much of stdin as fits into the pipe. If the program has closed its end of the
// pipe, or has ended, onStdin drops the rest.
func (w *supervisor) onStdin(events uint32) error {
	if err := w.writeStdin(); err != nil {
		return err
	}
	if len(w.stdin) > 0 && events&unix.EPOLLERR != 0 {
		w.stdin = nil
	}
	if len(w.stdin) == 0 {
		return errors.Join(w.Slot.Poller.Remove(w.Shell.Stdin), w.Shell.Stdin.Close())
	}
	return nil
}

// writeStdin writes to the program's stdin without waiting.
func (w *supervisor) writeStdin() error {
	for len(w.stdin) > 0 {
		n, err := unix.Write(linux.FD(w.Shell.Stdin), w.stdin)
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

// onOutput reads one chunk of stdout or stderr. Then it stops polling that stream if the stream has
// ended, is throttled, or the caller has not taken the last chunk yet.
func (w *supervisor) onOutput(i int) error {
	s := &w.out[i]
	if !s.Busy() && !w.control.holds(i) {
		before := s.Total
		if _, err := s.Read(w.Slot.Chunk, false); err != nil {
			return err
		}
		w.control.read(i, s.Total-before)
		if s.Over() && !w.stopped {
			w.ev.OutputFull = true
			return w.stop()
		}
		if pause := w.throttle(s, s.Total-before); pause > 0 {
			if err := w.Slot.Throttle.Set(linux.Monotonic() + pause); err != nil {
				return err
			}
		}
	}

	if s.Ended || s.Busy() || s.Throttled || w.control.holds(i) {
		w.parked[i] = true
		if err := w.Slot.Poller.Remove(s.File); err != nil {
			return err
		}
	}
	if w.control != nil {
		return w.resumeOutputs()
	}
	return nil
}

// throttle decides how long a stream is not read after a read of n bytes.
func (w *supervisor) throttle(s *outputs.Stream, n int64) time.Duration {
	pause := time.Duration(0)
	if s.Throttle(n) {
		pause = outputs.ThrottleTime
	}
	if n > 0 {
		pause = max(pause, w.Slot.Pause())
	}
	s.Throttled = pause > 0
	return pause
}

// errorsOf is the stream that has what the program wrote to stderr.
func (w *supervisor) errorsOf(p *plan.Run) *outputs.Stream {
	if p.MergeStderr {
		return &w.out[0]
	}
	return &w.out[1]
}

// resumeOutputs polls a parked stream again if the caller has taken its last chunk and its
// throttling is over. While an interactor runs, only the interactor reads the program's stdout: if the
// agent took a line, program and interactor would wait for each other (TestWakesTakeNothingFromInteractors).
func (w *supervisor) resumeOutputs() error {
	if err := w.passControl(); err != nil {
		return err
	}
	for i := range w.out {
		if i == 0 && w.link.hasStdio() && !w.link.readsOutput {
			continue
		}
		s := &w.out[i]
		if w.parked[i] && !s.Ended && !s.Busy() && !s.Throttled && !w.control.holds(i) {
			w.parked[i] = false
			if err := w.Slot.Poller.Add(s.File, unix.EPOLLIN, tagStdout+int32(i)); err != nil {
				return err
			}
		}
	}

	return nil
}

func (w *supervisor) onThrottleEnd() error {
	w.Slot.Throttle.Drain()
	for i := range w.out {
		w.out[i].Throttled = false
	}
	if w.control != nil {
		w.control.Throttled = false
	}
	return errors.Join(w.resumeOutputs(), w.resumeDiscards())
}
