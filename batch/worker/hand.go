package worker

import (
	"context"
	"errors"
	"sync"
)

// A hand has the jobs that a worker has taken. The queue counts an attempt of each of them when the worker's
// machine ends, also of those that did not run. A job that may be what ends machines therefore runs while nothing
// else is in hand, and nothing is fetched: its end then counts against that job alone.
type hand struct {
	mu       sync.Mutex
	base     context.Context    // of all fetches
	fetches  context.Context    // guarded by mu; done while a job is alone, or is to be
	stop     context.CancelFunc // guarded by mu; ends fetches
	fetching int                // guarded by mu; loops that wait for a job
	jobs     map[*held]struct{} // guarded by mu
	alone    *held              // guarded by mu; the job that is alone, or waits until it is; nil: none
	changed  chan struct{}      // guarded by mu; closed and replaced at each change
}

// A held is a job in hand.
type held struct {
	in      *hand
	slot    *ticket                 // of its loop
	leave   context.CancelCauseFunc // has the job given back, unless it runs
	running bool                    // guarded by in.mu
}

// errRoom gives a job back. It has not run.
var errRoom = notHere{errors.New("another job, which may be what ended workers, runs alone")}

// open makes the hand. ctx ends all fetches.
func (h *hand) open(ctx context.Context) {
	h.base, h.jobs, h.changed = ctx, map[*held]struct{}{}, make(chan struct{})
	h.fetches, h.stop = context.WithCancel(ctx)
}

// notify tells those that wait for a change; h.mu is held.
func (h *hand) notify() {
	close(h.changed)
	h.changed = make(chan struct{})
}

// fetch waits until a job may be fetched, and returns the context of that: it ends when none may be fetched any
// more. Without an error the caller calls fetched. rest is called if it has to wait.
func (h *hand) fetch(rest func()) (context.Context, error) {
	for {
		h.mu.Lock()
		fetches, changed, err := h.fetches, h.changed, h.base.Err()
		open := h.alone == nil && err == nil
		if open {
			h.fetching++
		}

		h.mu.Unlock()
		if open || err != nil {
			return fetches, err
		}

		rest()
		select {
		case <-changed:
		case <-h.base.Done():
			return nil, h.base.Err()
		}
	}
}

// fetched ends a fetch. A job that came is in hand from then on, until end; leave has it given back.
func (h *hand) fetched(job bool, leave context.CancelCauseFunc) *held {
	h.mu.Lock()
	defer h.mu.Unlock()

	h.fetching--
	var one *held
	if job {
		one = &held{in: h, leave: leave}
		h.jobs[one] = struct{}{}
		if h.alone != nil { // it came when the fetch was ended
			leave(errRoom)
		}
	}
	if h.alone != nil {
		h.notify()
	}
	return one
}

// end takes the job out of the hand: its result was sent, or it was given back.
func (j *held) end() {
	h := j.in
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.jobs, j)
	if h.alone == j {
		h.alone = nil
		h.fetches, h.stop = context.WithCancel(h.base)
		h.notify()
	} else if h.alone != nil {
		h.notify()
	}
}

// A move is what a job in hand does next.
type move int

const (
	begin move = iota
	waitForOthers
	giveBack
)

// next is what a job does next that is in hand with others. suspect says that it may be what ends workers;
// otherAlone, that another job is alone, or waits until it is; others counts jobs in hand and fetches.
func next(suspect, otherAlone bool, others int) move {
	switch {
	case otherAlone:
		return giveBack
	case suspect && others > 0:
		return waitForOthers
	}
	return begin
}

// begin begins to run the job. A suspect first waits until it is alone: jobs that do not run are given back, those
// that run end, and nothing is fetched. After it is alone it stays so until its end.
func (j *held) begin(ctx context.Context, suspect bool) error {
	h := j.in
	for {
		h.mu.Lock()
		m := next(suspect, h.alone != nil && h.alone != j, len(h.jobs)-1+h.fetching)
		if suspect && m != giveBack && h.alone == nil {
			h.alone = j
			h.stop()
			for other := range h.jobs {
				if other != j && !other.running {
					other.leave(errRoom)
				}
			}
		}

		j.running = m == begin
		changed := h.changed
		h.mu.Unlock()
		switch m {
		case begin:
			return nil
		case giveBack:
			return errRoom
		}

		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// pause says that the job does not run any more. It may begin again.
func (j *held) pause() {
	h := j.in
	h.mu.Lock()
	defer h.mu.Unlock()
	j.running = false
	if h.alone != nil && h.alone != j {
		j.leave(errRoom)
	}
}
