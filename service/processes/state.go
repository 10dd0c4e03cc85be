package processes

import (
	"time"

	"github.com/brig-sandbox/brig/api"
)

// Retention is how long an ended process is kept.
const Retention = time.Hour

// AttachWithin is how long a process that is not detached waits for its first connection.
const AttachWithin = time.Minute

// A Life decides when a process ends for want of a connection. Its zero value is a process that was just created, and is
// not detached.
type Life struct {
	Detached    bool
	Connections int  // attached now
	had         bool // there was one
}

// Attach notes a new connection. It reports whether there is one already, which must be taken over then.
func (l *Life) Attach() (other bool) {
	other = l.Connections > 0
	l.Connections++
	l.had = true
	return other
}

// Leave notes that a connection has gone. It reports whether the process ends by that.
func (l *Life) Leave() (ends bool) {
	l.Connections--
	return l.Connections == 0 && !l.Detached
}

// Unclaimed reports whether the process ends because nobody has come, when AttachWithin is over.
func (l *Life) Unclaimed() bool { return !l.Detached && !l.had }

// Evict chooses which of the ended processes of one session is forgotten so that a new one fits: the one that ended first.
// ended has their times by pid; 0: there is room for one more.
func Evict(ended map[int]time.Time, maximum int) (pid int) {
	if len(ended) < maximum {
		return 0
	}
	for p, at := range ended {
		if pid == 0 || at.Before(ended[pid]) || at.Equal(ended[pid]) && p < pid {
			pid = p
		}
	}
	return pid
}

// Describe is a process as its owner sees it.
func Describe(p api.Process, r *Ring, l Life) api.Process {
	p.OutputStart, p.OutputOffset = r.Start(), r.End()
	p.Attached = l.Connections > 0
	return p
}
