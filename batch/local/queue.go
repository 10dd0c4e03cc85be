// Package local moves the jobs of one batch between its coordinator and its worker, which are in one process:
// what it holds ends with both, so it keeps nothing and sends nothing.
package local

import (
	"context"
	"sync"
	"time"

	"github.com/brig-sandbox/brig/batch"
)

// A Queue is the batch.Queue of one batch. It is safe for use by many goroutines.
type Queue struct {
	results chan batch.Message
	ended   chan struct{}    // closed: nobody reads results any more
	more    [2]chan struct{} // capacity 1: there are jobs that are urgent, or not

	mu       sync.Mutex
	waiting  [2][]*job      // guarded by mu; in the order of their release
	jobs     map[int64]*job // guarded by mu; that wait, and that the worker has
	onCancel func()         // guarded by mu; nil: there is no worker
}

// A job is released and has no result.
type job struct {
	message   batch.Message
	notBefore time.Time
	canceled  bool
}

// New makes a queue without jobs.
func New() *Queue {
	q := &Queue{results: make(chan batch.Message), ended: make(chan struct{}), jobs: map[int64]*job{}}
	for i := range q.more {
		q.more[i] = make(chan struct{}, 1)
	}
	return q
}

// class is the place of a job in Queue.waiting.
func class(urgent bool) int {
	if urgent {
		return 1
	}
	return 0
}

// Release implements batch.Queue.
func (q *Queue) Release(_ context.Context, m batch.Message) error {
	m.Attempt = m.Before // it counts how often the worker took it
	q.mu.Lock()
	defer q.mu.Unlock()
	if _, there := q.jobs[m.Index]; !there {
		j := &job{message: m}
		q.jobs[m.Index] = j
		q.wait(j)
	}
	return nil
}

// wait adds a job to those that wait; q.mu is held.
func (q *Queue) wait(j *job) {
	c := class(j.message.Urgent)
	q.waiting[c] = append(q.waiting[c], j)
	q.signal(c)
}

func (q *Queue) signal(class int) {
	select {
	case q.more[class] <- struct{}{}:
	default: // one that will be read says the same
	}
}

// UnderWay implements batch.Queue.
func (q *Queue) UnderWay(context.Context, string) (map[int64]bool, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	all := make(map[int64]bool, len(q.jobs))
	for i := range q.jobs {
		all[i] = true
	}
	return all, nil
}

// Results implements batch.Queue. It is called once: results that come after it are dropped.
func (q *Queue) Results(ctx context.Context, _ string, out chan<- batch.Message) {
	defer close(q.ended)

	for {
		select {
		case m := <-q.results:
			select {
			case out <- m:
			case <-ctx.Done():
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// Forget implements batch.Queue. A result is not kept.
func (q *Queue) Forget(context.Context, string, uint64) error { return nil }

// Remove implements batch.Queue. A result is not kept.
func (q *Queue) Remove(context.Context, string, int64) error { return nil }

// Withdraw implements batch.Queue.
func (q *Queue) Withdraw(context.Context, string) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, class := range q.waiting {
		for _, j := range class {
			delete(q.jobs, j.message.Index)
		}
	}
	q.waiting = [2][]*job{}
	return nil
}

// Cancel implements batch.Queue.
func (q *Queue) Cancel(context.Context, string) error {
	q.mu.Lock()
	for _, j := range q.jobs {
		j.canceled = true
	}
	q.jobs, q.waiting = map[int64]*job{}, [2][]*job{}
	end := q.onCancel
	q.mu.Unlock()
	if end != nil {
		end()
	}
	return nil
}

// OnCancel has end called when the batch is canceled.
func (q *Queue) OnCancel(end func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.onCancel = end
}

// End implements batch.Queue.
func (q *Queue) End(context.Context, string) error { return nil }

// Next waits for a job that is urgent, or for one that is not. It calls none before it waits.
func (q *Queue) Next(ctx context.Context, urgent bool, none func()) (*Delivery, error) {
	c := class(urgent)
	for {
		d, until := q.take(c)
		if d != nil {
			return d, nil
		}

		none()
		var due <-chan time.Time
		var timer *time.Timer
		if !until.IsZero() {
			timer = time.NewTimer(time.Until(until))
			due = timer.C
		}

		select {
		case <-q.more[c]:
		case <-due:
		case <-ctx.Done():
		}

		if timer != nil {
			timer.Stop()
		}
		if ctx.Err() != nil {
			q.signal(c) // for others, in case this one has read it
			return nil, context.Cause(ctx)
		}
	}
}

// take takes the first job that may begin; otherwise it returns when the first one may, or zero.
func (q *Queue) take(class int) (d *Delivery, until time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()

	now, list := time.Now(), q.waiting[class]
	for i, j := range list {
		if j.notBefore.After(now) {
			if until.IsZero() || j.notBefore.Before(until) {
				until = j.notBefore
			}
			continue
		}

		copy(list[1:i+1], list[:i]) // mostly i is zero
		list[0] = nil
		q.waiting[class] = list[1:]
		if len(q.waiting[class]) > 0 {
			q.signal(class)
		}

		j.message.Attempt++
		return &Delivery{queue: q, job: j, message: j.message}, until
	}

	return nil, until
}

// A Delivery is a job that the worker has.
type Delivery struct {
	queue   *Queue
	job     *job
	message batch.Message
}

// Job is the message of the job.
func (d *Delivery) Job() batch.Message { return d.message }

// Extend does nothing: no other worker gets the job.
func (d *Delivery) Extend() error { return nil }

// Done gives the coordinator the result, unless the batch was canceled.
func (d *Delivery) Done(ctx context.Context, result []byte) error {
	q := d.queue
	q.mu.Lock()
	canceled := d.job.canceled
	q.mu.Unlock()
	if canceled {
		return nil
	}
	if err := d.Drop(); err != nil { // first: the coordinator may release it again at once
		return err
	}

	select {
	case q.results <- batch.Message{Batch: d.message.Batch, Index: d.message.Index, Body: result}:
		return nil
	case <-q.ended:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Later has the job wait again.
func (d *Delivery) Later(delay time.Duration) error {
	d.queue.mu.Lock()
	defer d.queue.mu.Unlock()
	if !d.job.canceled {
		d.job.notBefore = time.Now().Add(delay)
		d.queue.wait(d.job)
	}
	return nil
}

// Drop removes the job.
func (d *Delivery) Drop() error {
	d.queue.mu.Lock()
	defer d.queue.mu.Unlock()
	if d.queue.jobs[d.message.Index] == d.job {
		delete(d.queue.jobs, d.message.Index)
	}
	return nil
}
