package run

import (
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/judge"
	"github.com/brig-sandbox/brig/runtime/linux"
)

// This file finds that the agent was stopped while a program ran: by a frozen host, a suspended machine, or a load under
// which nothing runs.

// watchInterval is how often the wall timer expires. An agent that does not notice that in time was stopped,
// and with it perhaps the program: see noteLate.
const watchInterval = 500 * time.Millisecond

// residentInterval is the same for a resident of a session: hundreds of them wait for hours.
const residentInterval = time.Minute

// noteLate notes how late the agent notices that the wall timer was due.
func (w *supervisor) noteLate() {
	if !w.stopped {
		w.late = max(w.late, linux.Monotonic()-w.wallAt)
	}
}

// stoppedError is the error for a program whose wall limit says nothing about it: the agent was so late that it
// had been stopped meanwhile, as by a frozen host, and the program had little processor time. A program that
// computes keeps its verdict: it cannot get rid of it by making the agent late.
func stoppedError(ev judge.Evidence, l api.Limits, late time.Duration) error {
	const tooLate = time.Second
	if late < tooLate || judge.Verdict(ev, l) != api.WallLimit || ev.CPU > l.Wall/2 {
		return nil
	}
	return api.Fail(api.CodeHostExhausted,
		"the agent did not run for %v while the program ran, which used %v of processor time: its wall limit of %v "+
			"says nothing then: send the run again, and lower the load on this host",
		late.Round(time.Millisecond), time.Duration(ev.CPU).Round(time.Millisecond), time.Duration(l.Wall))
}
