package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/brig-sandbox/brig/internal/procfs"
	"github.com/brig-sandbox/brig/runtime/linux"
)

// A run does not end with its main process while another one that it started may still write to stdout or stderr:
// how much of `exec > >(tee log)` arrived would otherwise be a race. The run goes on, with its limits, until
//
//   - no process has stdout or stderr open: all that was written is there; or
//   - all processes wait for something outside the run, and did nothing for idleTime: those are servers, sleepers
//     and daemons. They are ended, as are all that do not have the pipes. The load of the machine does not matter:
//     a process that waits for a processor is not idle; or
//   - a limit ends the run.
//
// Processes that an exec leaves running belong to its session. So an exec also returns when they have used execDrain of
// processor time or of time asleep, in which they ticked, after execWall, and at its wall limit, which its main process
// kept. Who waits for a processor uses neither: on a busy machine an exec waits longer, and loses no output.
const (
	idleTime  = 100 * time.Millisecond
	execDrain = time.Second
	execWall  = 30 * time.Second
)

// awaitWriters waits for the processes that the main process has left, as above.
func (w *supervisor) awaitWriters(ctx context.Context) error {
	if w.stopped || !w.replied || w.link != nil {
		return nil
	}

	empty, err := w.Shell.Leaf.Empty()
	if err != nil || empty {
		return err
	}

	used, err := w.Shell.Leaf.CPUTime()
	if err != nil {
		return err
	}
	if w.Session != nil { // the shell of an exec ends now; what is left belongs to that of the session
		if err := errors.Join(w.Slot.Poller.Remove(w.Shell.Sock.File), w.Slot.Poller.Remove(w.Shell.Pidfd)); err != nil {
			return err
		}
	}

	now := linux.Monotonic()
	w.left = &leftProcesses{since: now, used: used, changed: now, looked: now}
	if err := w.armCPU(used); err != nil {
		return err
	}
	if err := w.follow(ctx); err != nil {
		return err
	}
	if w.out.Ended() {
		w.left.ended = linux.Monotonic()
	}
	return nil
}

// leftProcesses is what is known of the processes that outlive the main one. All times are on the monotonic clock.
type leftProcesses struct {
	since   time.Duration // when the main process was seen to have ended
	used    time.Duration // processor time of the run at the last check
	changed time.Duration // when that was seen to have changed
	looked  time.Duration // when it was last seen whether they are asleep
	spent   time.Duration // the processor time that they used since, and the time in which they were asleep
	idle    bool          // nothing is to be expected of them
	ended   time.Duration // when the last one had closed its pipes; 0: it has not
}

// ran notes the processor time of the run now.
func (l *leftProcesses) ran(now, used time.Duration) {
	if used != l.used {
		l.spent += used - l.used
		l.used, l.changed = used, now
	}
}

// look reports whether it is time to see if the processes are asleep.
func (l *leftProcesses) look(now time.Duration) bool {
	return now >= l.changed+idleTime || now >= l.looked+idleTime
}

// seen notes whether all of them are asleep now. A check that comes late, because the agent had no processor, says
// nothing of the time before it.
func (l *leftProcesses) seen(now time.Duration, asleep bool) {
	if asleep {
		l.spent += min(now-l.looked, idleTime)
	}
	l.looked = now
	l.idle = asleep && now >= l.changed+idleTime
}

// mayStay reports whether those of an exec have had their time.
func (l *leftProcesses) mayStay(now time.Duration) bool {
	return l.spent >= execDrain || now >= l.since+execWall
}

// checkLeft decides whether to wait on. used is the processor time of the run now.
func (w *supervisor) checkLeft(used time.Duration) error {
	l, now := w.left, linux.Monotonic()
	l.ran(now, used)
	switch {
	case w.outputWaits():
		l.looked = now // their sleep is not theirs
	case l.look(now):
		asleep, err := w.leftAreAsleep(used)
		if err != nil {
			return err
		}
		l.seen(now, asleep)
	}

	if l.idle = l.idle || w.Session != nil && l.mayStay(now); l.idle {
		return nil
	}
	return w.armCPU(used)
}

// outputWaits reports whether a stream may have output that is not read now, because it is throttled or the caller is
// slow: a process that sleeps may wait for that.
func (w *supervisor) outputWaits() bool {
	return w.parked[0] && !w.out[0].Ended || w.parked[1] && !w.out[1].Ended
}

// leftAreAsleep reports whether all processes of the run were asleep at one moment. used is its processor time
// before they are looked at: if it is the same after that, none has woken another one meanwhile.
func (w *supervisor) leftAreAsleep(used time.Duration) (bool, error) {
	pids, err := w.Shell.Leaf.Pids()
	if err != nil {
		return false, err
	}
	asleep, err := allAsleep(pids)
	if err != nil || !asleep {
		return false, err
	}
	after, err := w.Shell.Leaf.CPUTime()
	return after == used, err
}

// allAsleep reports whether no thread of these processes runs, waits for a processor or for a disk.
func allAsleep(pids []int) (bool, error) {
	for _, pid := range pids {
		threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
		if procfs.IsEnded(err) {
			continue
		}
		if err != nil {
			return false, err
		}

		for _, t := range threads {
			s, err := procfs.ReadStat(fmt.Sprintf("%d/task/%s", pid, t.Name()))
			if err != nil || strings.IndexByte("SITtZX", s.State) < 0 { // an error: it has just ended, which is no sleep
				return false, nil
			}
		}
	}

	return true, nil
}
