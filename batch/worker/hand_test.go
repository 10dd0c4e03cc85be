package worker

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/batch"
)

func TestNext(t *testing.T) {
	for _, tt := range []struct {
		suspect, otherAlone bool
		others              int
		want                move
	}{
		{want: begin},
		{others: 3, want: begin},
		{suspect: true, want: begin},
		{suspect: true, others: 1, want: waitForOthers},
		{otherAlone: true, others: 1, want: giveBack},
		{suspect: true, otherAlone: true, others: 1, want: giveBack},
	} {
		if got := next(tt.suspect, tt.otherAlone, tt.others); got != tt.want {
			t.Errorf("%+v: %d", tt, got)
		}
	}
}

// A testQueue gives jobs to a worker, and those that it gives back again.
type testQueue struct {
	t       *testing.T
	waiting chan batch.Message
	asking  atomic.Int64 // fetches
	inHand  atomic.Int64
	back    atomic.Int64 // jobs that were given back
	done    sync.WaitGroup
}

func (q *testQueue) source() Source {
	return func(ctx context.Context, rest func()) (Delivery, error) {
		q.asking.Add(1)
		defer q.asking.Add(-1)

		select {
		case m := <-q.waiting:
			q.inHand.Add(1)
			return &testDelivery{q, m}, nil
		default:
			rest() // as real sources do: other jobs would wait for an urgent one that does not come
		}

		select {
		case m := <-q.waiting:
			q.inHand.Add(1)
			return &testDelivery{q, m}, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

type testDelivery struct {
	q *testQueue
	m batch.Message
}

func (d *testDelivery) Job() batch.Message { return d.m }
func (d *testDelivery) Extend() error      { return nil }

func (d *testDelivery) Done(_ context.Context, body []byte) error {
	d.q.inHand.Add(-1)
	var back batch.HandBack
	if err := json.Unmarshal(body, &back); err != nil {
		return err
	}
	if back.Reason == "" {
		d.q.done.Done()
		return nil
	}
	if back.Attempts != d.m.Attempt-1 {
		d.q.t.Errorf("a job that was taken for attempt %d has %d attempts when it is given back without one", d.m.Attempt, back.Attempts)
	}

	d.q.back.Add(1)
	d.q.waiting <- d.m
	return nil
}

func (d *testDelivery) Later(time.Duration) error { return errors.New("the job was not given back") }
func (d *testDelivery) Drop() error               { return errors.New("the job was dropped") }

// While a job runs that may be what ends workers, nothing else is in hand, and nothing is fetched: the end of the
// worker would count as an attempt of what is. What waited is given back without an attempt.
func TestNothingElseIsInHandWithASuspect(t *testing.T) {
	const jobs = 200
	q := &testQueue{t: t, waiting: make(chan batch.Message, jobs)}
	q.done.Add(jobs)
	for i := range int64(jobs) {
		one, attempt := batch.Work{Index: i, Job: api.Job{ID: "a"}}, 1
		if i%10 >= 8 { // two together
			one.Job.Source, attempt = api.Bytes("suspect"), AloneFrom
		}
		body, err := json.Marshal(one)
		if err != nil {
			t.Fatal(err)
		}
		q.waiting <- batch.Message{Batch: "b", Index: i, Attempt: attempt, Body: body}
	}

	var running, maximum, suspects atomic.Int64
	w := &Worker{Name: "w", Slots: 4, Jobs: q.source, Urgent: q.source, Healthy: func(context.Context) error { return nil },
		Execute: func(_ context.Context, r api.Run) (api.RawResult, error) {
			n := running.Add(1)
			defer running.Add(-1)

			maximum.Store(max(maximum.Load(), n))
			for range 3 {
				if hand, asking := q.inHand.Load(), q.asking.Load(); r.Source != nil && (hand != 1 || asking != 0) {
					t.Errorf("a suspect runs while %d jobs are in hand and %d are asked for", hand, asking)
				}
				time.Sleep(time.Millisecond)
			}

			if r.Source != nil {
				suspects.Add(1)
			}
			return api.RawResult{Result: api.Result{Verdict: api.OK}}, nil
		}}

	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	all.Go(func() { w.Run(ctx) })
	q.done.Wait()
	cancel()
	all.Wait()
	if maximum.Load() < 2 {
		t.Error("no jobs ran at the same time")
	}
	if n := suspects.Load(); n != jobs/5 {
		t.Errorf("suspects ran %d times, want %d", n, jobs/5)
	}

	t.Logf("%d jobs were given back", q.back.Load())
}

// A worker that is to end does not wait for a job that waits until it is alone.
func TestASuspectThatWaitsEnds(t *testing.T) {
	var h hand
	h.open(t.Context())
	take := func() (*held, context.Context) {
		if _, err := h.fetch(func() {}); err != nil {
			t.Fatal(err)
		}
		ctx, leave := context.WithCancelCause(t.Context())
		return h.fetched(true, leave), ctx
	}

	runs, _ := take()
	if err := runs.begin(t.Context(), false); err != nil {
		t.Fatal(err)
	}

	suspect, ctx := take()
	waits, left := take()
	suspect.leave(errDrained)
	if err := suspect.begin(ctx, true); !errors.Is(err, errDrained) {
		t.Errorf("%v, want %v", err, errDrained)
	}
	if err := context.Cause(left); !errors.As(err, new(notHere)) {
		t.Errorf("the job that waited has %v, want to be given back", err)
	}

	waits.end()
	suspect.end()
	if fetches, err := h.fetch(func() {}); err != nil || fetches.Err() != nil {
		t.Errorf("after the end of the suspect: %v", err)
	}
}
