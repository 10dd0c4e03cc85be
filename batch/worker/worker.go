// Package worker takes the jobs of batches from a queue, has an agent execute them, and sends the results.
package worker

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/batch"
)

// A Delivery is a job that a worker has. The queue gives it to another worker if this one gives no sign in
// time.
type Delivery interface {
	Job() batch.Message
	Extend() error                                 // the worker still works on it
	Done(ctx context.Context, result []byte) error // stores the result, and removes the job
	Later(delay time.Duration) error               // gives it back
	Drop() error                                   // removes it without a result
}

// A Source waits for the next job, and calls none when it sees that there is none yet. One goroutine uses it.
type Source func(ctx context.Context, none func()) (Delivery, error)

// SourceOf makes a source of next, which waits for a job.
func SourceOf[D Delivery](next func(context.Context, func()) (D, error)) Source {
	return func(ctx context.Context, none func()) (Delivery, error) {
		d, err := next(ctx, none)
		if err != nil {
			return nil, err
		}
		return d, nil
	}
}

// A Worker executes jobs.
type Worker struct {
	Name  string
	Slots int // of the agent: as many jobs run at once

	// Jobs and Urgent make sources of jobs. While there are urgent jobs they have all slots.
	Jobs, Urgent func() Source

	Execute func(ctx context.Context, r api.Run) (api.RawResult, error)

	// Tests is how many tests a problem has that jobs name, and Complete adds them and what else it says to a run; the
	// caller then calls free. nil: the coordinator has done so.
	Tests    func(problem string) int
	Complete func(ctx context.Context, problem string, r api.Run) (run api.Run, free func(), err error)

	Blob    func(ctx context.Context, digest string) ([]byte, error) // fetches what a job names by digest
	Keep    func(ctx context.Context, content []byte) error          // gives it to the agent; nil: the agent has it
	Healthy func(ctx context.Context) error                          // whether the agent answers

	Images map[string]string // digest of the image of each language, by its names; nil: not known

	Refuse func(r api.Run) error // of jobs that the operator does not permit; nil: none

	Extend time.Duration // how often the worker gives a sign; zero: 10 s
	Drain  time.Duration // how long jobs may go on after the end; zero: 60 s
	Log    *slog.Logger  // nil: none

	inFlight atomic.Int64
	outcomes outcomes
	hand     hand
	slots    slots
	cancels  cancels
	commons  commons
	kept     kept
}

const (
	extendInterval = 10 * time.Second
	drainTime      = time.Minute
	sendTime       = 5 * time.Second
)

// InFlight is the number of jobs that the worker has.
func (w *Worker) InFlight() int { return int(w.inFlight.Load()) }

// Outcomes counts the jobs that the worker took: by the status of the result, and those that were given back or
// dropped.
func (w *Worker) Outcomes() map[string]int64 { return w.outcomes.all() }

// CancelBatch ends the jobs of a batch.
func (w *Worker) CancelBatch(batch string) { w.cancels.cancel(batch) }

// Run takes jobs until ctx is done. The jobs that it has then go on for Drain, and are then given back.
func (w *Worker) Run(ctx context.Context) {
	if w.Log == nil {
		w.Log = slog.New(slog.DiscardHandler)
	}
	if w.Extend == 0 {
		w.Extend = extendInterval
	}
	if w.Drain == 0 {
		w.Drain = drainTime
	}

	all := max(w.Slots, 1)
	w.slots.open(all)
	w.hand.open(ctx)
	work, abort := context.WithCancelCause(context.WithoutCancel(ctx))
	defer abort(nil)

	var loops sync.WaitGroup

	// One more job than slots is at hand when a slot becomes free, of both kinds: urgent jobs use all slots as well.
	for range all + 1 {
		loops.Go(func() { w.loop(work, w.Jobs, &ticket{of: &w.slots}) })
		loops.Go(func() { w.loop(work, w.Urgent, &ticket{of: &w.slots, urgent: true}) })
	}

	ended := make(chan struct{})
	var drain sync.WaitGroup
	drain.Go(func() {
		select {
		case <-ctx.Done():
		case <-ended:
			return
		}
		select {
		case <-time.After(w.Drain):
			abort(errDrained)
		case <-ended:
		}
	})

	loops.Wait()
	close(ended)
	drain.Wait()
}

var (
	errDrained  = errors.New("the worker ends")
	errCanceled = errors.New("the batch was canceled")
)

// loop takes jobs, one after the other.
func (w *Worker) loop(work context.Context, source func() Source, slot *ticket) {
	defer slot.rest()

	for next := source(); ; {
		fetch, err := w.hand.fetch(slot.rest)
		if err != nil {
			return
		}

		d, err := next(fetch, slot.rest)
		ctx, leave := context.WithCancelCause(work)
		job := w.hand.fetched(err == nil, leave)
		if err != nil { // fetch is done
			slot.rest()
			leave(nil)
			next = source() // the old one is not used again
			continue
		}

		w.inFlight.Add(1)
		job.slot = slot
		w.handle(ctx, work, d, job, leave)
		w.inFlight.Add(-1)
		job.end()
	}
}

// handle executes a job and sends its result, or gives it back.
func (w *Worker) handle(ctx, work context.Context, d Delivery, job *held, leave context.CancelCauseFunc) {
	m := d.Job()
	defer w.cancels.add(m.Batch, leave)()
	defer w.extend(d)()

	res, err := w.judge(ctx, m, job)
	switch {
	case err == nil:
		w.outcomes.add(string(res.Status))
		err = w.send(work, d, res.encode())
	case errors.Is(err, errCanceled):
		w.outcomes.add("dropped")
		err = d.Drop()
	case errors.As(err, new(notHere)), errors.Is(err, errDrained):
		w.outcomes.add("given-back")
		w.Log.Warn("a job is given back", "batch", m.Batch, "index", m.Index, "why", err)
		err = w.send(work, d, returned(res.JobResult, max(m.Attempt, res.Attempts)-1, err))
	default:
		w.outcomes.add("given-back")
		w.Log.Warn("a job is given back", "batch", m.Batch, "index", m.Index, "err", err)
		err = d.Later(pauseBeforeOther())
	}

	if err != nil {
		w.Log.Warn("the engine does not answer: another worker will get the job", "batch", m.Batch,
			"index", m.Index, "err", err)
	}
}

// send sends a result. It waits for ever while the engine does not answer, because the result took time, and
// for a short time after work is done.
func (w *Worker) send(work context.Context, d Delivery, body []byte) error {
	ctx, cancel := context.WithCancel(context.WithoutCancel(work))
	defer cancel()
	defer context.AfterFunc(work, func() { time.AfterFunc(sendTime, cancel) })()
	return d.Done(ctx, body)
}

// extend gives a sign of the worker from time to time until it is ended.
func (w *Worker) extend(d Delivery) (end func()) {
	var mu sync.Mutex
	ended := false
	var timer *time.Timer // guarded by mu: the function may begin before it is set
	mu.Lock()
	defer mu.Unlock()

	timer = time.AfterFunc(w.Extend, func() {
		mu.Lock()
		defer mu.Unlock()
		if ended {
			return
		}
		if err := d.Extend(); err != nil {
			w.Log.Debug("extend a job", "err", err)
		}
		timer.Reset(w.Extend)
	})

	return func() {
		mu.Lock()
		defer mu.Unlock()
		ended = true
		timer.Stop()
	}
}
