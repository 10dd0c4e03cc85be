package batch_test

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/batch"
)

// A fakeQueue executes jobs itself, in any order. It loses and repeats the shares that its fields say.
type fakeQueue struct {
	lose, repeat float64 // shares of jobs and of results
	giveBack     float64 // share of jobs that a worker gives back
	never        bool    // no job ends
	taken        bool    // workers have all jobs
	reliable     bool    // it never says that something was lost, so that no job is released twice

	mu       sync.Mutex
	rng      *rand.Rand              // guarded by mu
	lost     bool                    // it has said so; guarded by mu
	jobs     map[int64]batch.Message // guarded by mu
	executed map[int64]int           // guarded by mu
	canceled bool                    // guarded by mu
	maximum  int                     // jobs at the same time; guarded by mu
	sequence uint64
}

func newFakeQueue(seed uint64) *fakeQueue {
	return &fakeQueue{rng: rand.New(rand.NewPCG(seed, 1)), jobs: map[int64]batch.Message{}, executed: map[int64]int{}}
}

func (q *fakeQueue) chance(share float64) bool { return q.rng.Float64() < share }

func (q *fakeQueue) Release(_ context.Context, m batch.Message) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.chance(q.lose) {
		q.jobs[m.Index] = m
		q.maximum = max(q.maximum, len(q.jobs))
	}
	return nil
}

func (q *fakeQueue) UnderWay(context.Context, string) (map[int64]bool, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	all := map[int64]bool{}
	for i := range q.jobs {
		all[i] = true
	}
	return all, nil
}

func (q *fakeQueue) Results(ctx context.Context, id string, out chan<- batch.Message) {
	for ctx.Err() == nil {
		for _, m := range q.next() {
			select {
			case out <- m:
			case <-ctx.Done():
			}
		}
		time.Sleep(50 * time.Microsecond)
	}
}

// next executes one job, and returns what is sent of its result.
func (q *fakeQueue) next() []batch.Message {
	q.mu.Lock()
	defer q.mu.Unlock()

	if !q.reliable && (!q.lost || q.chance(0.01)) {
		q.lost = true
		return []batch.Message{{}} // something was lost
	}
	if q.never {
		return nil
	}

	for i, m := range q.jobs { // in no order
		delete(q.jobs, i)
		q.executed[i]++
		if q.chance(q.lose) {
			return nil
		}

		var w batch.Work
		if err := json.Unmarshal(m.Body, &w); err != nil {
			panic(err)
		}

		if q.chance(q.giveBack) {
			body, err := json.Marshal(batch.HandBack{ID: w.Job.ID, Index: w.Index, Digest: w.Digest, Reason: "not now"})
			if err != nil {
				panic(err)
			}
			q.executed[i]--
			return []batch.Message{{Batch: m.Batch, Index: i, Body: body}}
		}

		score := 1.0
		body, err := json.Marshal(api.JobResult{ID: w.Job.ID, Index: w.Index, Status: api.JobDone, Verdict: api.OK, Score: &score,
			Digest: w.Digest, Meta: w.Job.Meta})
		if err != nil {
			panic(err)
		}

		q.sequence++
		m := batch.Message{Batch: m.Batch, Index: i, Sequence: q.sequence, Body: body}
		if q.chance(q.repeat) {
			return []batch.Message{m, m}
		}
		return []batch.Message{m}
	}

	return nil
}

func (q *fakeQueue) Forget(context.Context, string, uint64) error { return nil }

func (q *fakeQueue) Remove(context.Context, string, int64) error { return nil }

func (q *fakeQueue) Withdraw(context.Context, string) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.taken {
		q.jobs = map[int64]batch.Message{}
	}
	return nil
}

func (q *fakeQueue) Cancel(context.Context, string) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.canceled, q.jobs = true, map[int64]batch.Message{}
	return nil
}

func (q *fakeQueue) End(context.Context, string) error { return nil }
