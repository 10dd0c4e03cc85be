package local_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/batch"
	"github.com/brig-sandbox/brig/batch/local"
	"github.com/brig-sandbox/brig/batch/worker"
)

func nothing() {}

// judge runs a batch of n jobs with a worker that executes as execute says.
func judge(t *testing.T, ctx context.Context, n int, canceled <-chan struct{},
	execute func(ctx context.Context, r api.Run) (api.RawResult, error)) (batch.Progress, error) {
	t.Helper()
	var jobs strings.Builder
	for i := range n {
		fmt.Fprintf(&jobs, `{"id": "job-%d", "image": "x", "argv": ["%d"], "urgent": %v}`+"\n", i, i, i%7 == 0)
	}

	out, done, err := batch.OpenOutput(filepath.Join(t.TempDir(), "results.jsonl"), false, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()

	q := local.New()
	source := func(urgent bool) func() worker.Source {
		return func() worker.Source {
			return worker.SourceOf(func(ctx context.Context, none func()) (*local.Delivery, error) {
				return q.Next(ctx, urgent, none)
			})
		}
	}

	w := &worker.Worker{Name: "w", Slots: 3, Jobs: source(false), Urgent: source(true), Execute: execute,
		Healthy: func(context.Context) error { return nil }, Drain: time.Second}
	q.OnCancel(func() { w.CancelBatch("b") })
	working, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { w.Run(working) })
	defer running.Wait()
	defer stop()

	k := &batch.Coordinator{Queue: q, Input: batch.NewInput(strings.NewReader(jobs.String()), batch.MaxLine), Output: out, Done: done, ID: "b",
		Window: func() int { return 8 }, Canceled: canceled}
	return k.Run(ctx)
}

// Each job has one result, also of a worker that fails from time to time.
func TestEachJobIsJudged(t *testing.T) {
	var n atomic.Int64
	p, err := judge(t, t.Context(), 500, nil, func(context.Context, api.Run) (api.RawResult, error) {
		if n.Add(1)%5 == 0 {
			return api.RawResult{}, api.Fail(api.CodeBusy, "others have the slots")
		}
		return api.RawResult{Result: api.Result{Verdict: api.OK}}, nil
	})
	if err != nil || p.Recorded != 500 || p.Statuses[api.JobDone] != 500 || p.Again != 0 || p.Dropped != 0 {
		t.Errorf("%+v, %v", p, err)
	}
}

// A job that the worker gives back comes again, and its attempts are counted.
func TestAJobThatIsGivenBackComesAgain(t *testing.T) {
	q := local.New()
	if err := q.Release(t.Context(), batch.Message{Batch: "b", Index: 3, Attempt: 1, Before: 1, Body: []byte("{}")}); err != nil {
		t.Fatal(err)
	}

	for attempt := 2; attempt <= 4; attempt++ {
		d, err := q.Next(t.Context(), false, nothing)
		if err != nil || d.Job().Attempt != attempt || d.Job().Index != 3 {
			t.Fatalf("%+v, %v; want attempt %d", d, err, attempt)
		}
		if there, err := q.UnderWay(t.Context(), "b"); err != nil || !there[3] {
			t.Fatalf("the job that the worker has is not under way: %v, %v", there, err)
		}
		if err := d.Later(5 * time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}

	soon, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()

	if d, err := q.Next(soon, true, nothing); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%+v, %v: it is not urgent", d, err)
	}
}

// A worker does not wait for a coordinator that has ended, such as with a full disk.
func TestResultsAfterTheEndAreDropped(t *testing.T) {
	q := local.New()
	if err := q.Release(t.Context(), batch.Message{Batch: "b", Body: []byte("{}")}); err != nil {
		t.Fatal(err)
	}

	d, err := q.Next(t.Context(), false, nothing)
	if err != nil {
		t.Fatal(err)
	}

	ended, end := context.WithCancel(t.Context())
	end()
	q.Results(ended, "b", nil)
	soon, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()

	if err := d.Done(soon, []byte("{}")); err != nil {
		t.Error(err)
	}
}

// After a cancel nothing begins, what runs is ended, and its result is dropped.
func TestCancel(t *testing.T) {
	canceled, began := make(chan struct{}), make(chan struct{}, 100)
	var after atomic.Int64
	var once sync.Once
	p, err := judge(t, t.Context(), 200, canceled, func(ctx context.Context, _ api.Run) (api.RawResult, error) {
		began <- struct{}{}
		select {
		case <-canceled:
			after.Add(1)
		default:
		}
		if len(began) == 3 {
			once.Do(func() { close(canceled) })
		}
		<-ctx.Done()
		return api.RawResult{}, context.Cause(ctx)
	})
	if err != nil || p.Statuses[api.JobCanceled] != 200 {
		t.Errorf("%+v, %v", p, err)
	}
	if n := len(began); n > 6 || after.Load() > 3 {
		t.Errorf("%d jobs began, %d of them after the cancel", n, after.Load())
	}
}

// The bytes of what is released are bounded, and a job that is larger than the bound is released alone.
func TestWindowBytes(t *testing.T) {
	source, err := json.Marshal(strings.Repeat("x", 100_000))
	if err != nil {
		t.Fatal(err)
	}

	var jobs bytes.Buffer
	for i := range 40 {
		fmt.Fprintf(&jobs, `{"id": "%d", "language": "x", "source": %s}`+"\n", i, source)
	}

	out, done, err := batch.OpenOutput(filepath.Join(t.TempDir(), "results.jsonl"), false, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()

	q := local.New()
	ctx, stop := context.WithCancel(t.Context())
	maximum, ended := 0, make(chan struct{})
	go func() {
		defer close(ended)

		for {
			d, err := q.Next(ctx, false, nothing)
			if err != nil {
				return
			}

			time.Sleep(2 * time.Millisecond) // for more to be released
			there, _ := q.UnderWay(ctx, "b")
			maximum = max(maximum, len(there))
			var w batch.Work
			if err := json.Unmarshal(d.Job().Body, &w); err != nil {
				t.Error(err)
			}

			text, err := json.Marshal(api.JobResult{ID: w.Job.ID, Index: w.Index, Status: api.JobDone, Digest: w.Digest})
			if err == nil {
				err = d.Done(ctx, text)
			}
			if err != nil {
				t.Error(err)
			}
		}
	}()

	k := &batch.Coordinator{Queue: q, Input: batch.NewInput(&jobs, batch.MaxLine), Output: out, Done: done, ID: "b",
		Window: func() int { return 30 }, WindowBytes: 250_000}
	p, err := k.Run(ctx)
	stop()
	<-ended
	if err != nil || p.Recorded != 40 || maximum > 3 {
		t.Errorf("%+v, %v; %d jobs were released at once, want 3", p, err, maximum)
	}
}

// The urgent jobs of a file are executed before those that are in front of them, with all slots.
func TestUrgentJobsOfAFileAreFirst(t *testing.T) { synctest.Test(t, urgentJobsOfAFile) }

func urgentJobsOfAFile(t *testing.T) {
	const slots, window, others, urgent = 3, 64, 300, 50
	var jobs strings.Builder
	jobs.WriteString(`{"defaults": {"image": "x"}}` + "\n")
	for i := range others + urgent {
		fmt.Fprintf(&jobs, `{"id": "job-%d", "argv": ["%v"], "urgent": %v}`+"\n", i, i >= others, i >= others)
	}

	out, done, err := batch.OpenOutput(filepath.Join(t.TempDir(), "results.jsonl"), false, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()

	q := &countingQueue{Queue: local.New(), left: urgent, all: make(chan struct{})}
	var mu sync.Mutex
	var order []bool // whether the jobs that began are urgent
	source := func(urgent bool) func() worker.Source {
		return func() worker.Source {
			return worker.SourceOf(func(ctx context.Context, none func()) (*local.Delivery, error) {
				return q.Next(ctx, urgent, none)
			})
		}
	}

	w := &worker.Worker{Name: "w", Slots: slots, Jobs: source(false), Urgent: source(true), Drain: time.Second,
		Blob:    func(context.Context, string) ([]byte, error) { return []byte(`{"image": "x"}`), nil },
		Healthy: func(context.Context) error { return nil },
		Execute: func(_ context.Context, r api.Run) (api.RawResult, error) {
			mu.Lock()
			order = append(order, r.Argv[0] == "true")
			mu.Unlock()
			<-q.all
			time.Sleep(10 * time.Millisecond) // all that can go on has gone on
			return api.RawResult{Result: api.Result{Verdict: api.OK}}, nil
		}}

	working, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { w.Run(working) })
	defer running.Wait()
	defer stop()

	k := &batch.Coordinator{Queue: q, Output: out, Done: done, ID: "b", Window: func() int { return window },
		Input: batch.NewInput(strings.NewReader(jobs.String()), batch.MaxLine),
		Ahead: batch.NewInput(strings.NewReader(jobs.String()), batch.MaxLine),
		Put:   func(context.Context, api.Run) (string, error) { return "common", nil }}
	p, err := k.Run(t.Context())
	if err != nil || p.Recorded != others+urgent || p.Statuses[api.JobDone] != others+urgent || !p.AllRead {
		t.Fatalf("%+v, %v", p, err)
	}

	mu.Lock()
	defer mu.Unlock()

	first, left := 0, urgent
	for _, one := range order {
		if one {
			left--
		} else if left > 0 {
			first++
		}
	}

	if first > 2*slots-1 { // those that began first, and next to the last urgent ones
		t.Errorf("%d of the other jobs began before the last of %d urgent ones; %d slots", first, urgent, slots)
	}
}

// A countingQueue says when all urgent jobs are released.
type countingQueue struct {
	*local.Queue
	left int           // of the coordinator
	all  chan struct{} // closed: none is left
}

func (q *countingQueue) Release(ctx context.Context, m batch.Message) error {
	err := q.Queue.Release(ctx, m)
	if m.Urgent {
		if q.left--; q.left == 0 {
			close(q.all)
		}
	}
	return err
}
