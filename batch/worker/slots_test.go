package worker

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/batch"
)

func TestSlotsAreNeverTakenTwice(t *testing.T) {
	var s slots
	s.open(3)
	var used atomic.Int64
	var all sync.WaitGroup
	for i := range 30 {
		all.Go(func() {
			one := &ticket{of: &s, urgent: i%3 == 0}
			if err := one.take(t.Context()); err != nil {
				t.Error(err)
				return
			}
			if now := used.Add(1); now > 3 {
				t.Errorf("%d of 3 slots are used", now)
			}
			time.Sleep(time.Millisecond)
			used.Add(-1)
			one.give(false)
			one.rest()
		})
	}

	all.Wait()

	for range 3 {
		if err := (&ticket{of: &s}).take(t.Context()); err != nil {
			t.Fatal(err)
		}
	}

	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()

	if err := (&ticket{of: &s}).take(ctx); err == nil {
		t.Error("a fourth of three was taken")
	}
}

// Urgent jobs have all slots of a worker while there are any, however long it takes to fetch one and to send a result,
// and also while the agent is busy. The others have them before and after.
func TestUrgentJobsHaveAllSlots(t *testing.T) {
	const (
		slotCount = 3
		jobs      = 40 // of each kind
		runs      = 50 * time.Millisecond
	)

	for name, tt := range map[string]struct {
		answer time.Duration // of the queue
		busy   bool          // the agent has room for two jobs only
	}{
		"a list in this process": {},
		"an engine":              {answer: 20 * time.Millisecond},
		"a slow engine":          {answer: 200 * time.Millisecond},
		"a busy agent":           {answer: 5 * time.Millisecond, busy: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				var order []bool // of the ends of jobs: whether they are urgent
				running := map[bool]int{}
				execute := func(_ context.Context, r api.Run) (api.RawResult, error) {
					urgent := r.Language == "urgent"
					mu.Lock()
					if tt.busy && running[true]+running[false] == 2 {
						mu.Unlock()
						return api.RawResult{}, api.Fail(api.CodeBusy, "no room")
					}

					running[urgent]++
					mu.Unlock()

					time.Sleep(runs)

					mu.Lock()
					defer mu.Unlock()

					running[urgent]--
					order = append(order, urgent)
					return api.RawResult{Result: api.Result{Verdict: api.OK}}, nil
				}

				var ended sync.WaitGroup
				ended.Add(2 * jobs)
				source := func(language string) func() Source {
					waiting := make(chan *delayed, jobs)
					for i := range int64(jobs) {
						d := deliver(t, i, 1, batch.Work{Job: api.Job{Run: api.Run{Language: language}}})
						d.message.Urgent = language == "urgent"
						waiting <- &delayed{delivery: d, answer: tt.answer, all: &ended}
					}

					return func() Source {
						return func(ctx context.Context, none func()) (Delivery, error) {
							time.Sleep(tt.answer)
							select {
							case d := <-waiting:
								return d, nil
							default:
								none()
							}
							<-ctx.Done()
							return nil, ctx.Err()
						}
					}
				}

				w := &Worker{Name: "w", Slots: slotCount, Jobs: source("other"), Urgent: source("urgent"), Execute: execute,
					Healthy: func(context.Context) error { return nil }}
				ctx, stop := context.WithCancel(t.Context())
				var worker sync.WaitGroup
				worker.Go(func() { w.Run(ctx) })
				ended.Wait()
				stop()
				worker.Wait()

				urgent, others := 0, 0
				for _, one := range order {
					if one {
						urgent++
					} else if urgent < jobs {
						others++
					}
				}

				if others > 2*slotCount { // those that began first, and those that took a slot before a loop had its urgent job
					t.Errorf("%d jobs ended before the last of %d urgent ones; %d slots", others, jobs, slotCount)
				}
				if len(order) != 2*jobs {
					t.Errorf("%d jobs ended, of %d", len(order), 2*jobs)
				}
			})
		})
	}
}

// A delayed job is that of a queue that takes time to store a result.
type delayed struct {
	*delivery
	answer time.Duration
	all    *sync.WaitGroup
}

func (d *delayed) Done(ctx context.Context, result []byte) error {
	time.Sleep(d.answer)
	defer d.all.Done()
	return d.delivery.Done(ctx, result)
}
