package batches

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/batch"
	"github.com/brig-sandbox/brig/batch/local"
	"github.com/brig-sandbox/brig/batch/worker"
	"github.com/brig-sandbox/brig/service/runs"
)

const (
	minWindow   = 16       // jobs of a batch that are released and not recorded
	windowBytes = 32 << 20 // of all batches together
	retryPause  = 10 * time.Second
)

// judge judges the batch until each job has a result, or until ctx is done. What fails, such as a full disk, is
// tried again: nothing is lost meanwhile.
func (b *Batch) judge(ctx context.Context) {
	for {
		complete, err := b.run(ctx)
		if err == nil && complete {
			err = b.end()
		}

		switch {
		case ctx.Err() != nil, err == nil && complete:
			return
		case err != nil:
			b.store.cfg.Log.Error("a batch cannot go on now; trying again", "batch", b.id, "key", b.owner, "err", err)
		}

		select {
		case <-time.After(retryPause):
		case <-ctx.Done():
			return
		}
	}
}

// run judges the batch once. It returns whether each job has a result.
func (b *Batch) run(ctx context.Context) (complete bool, err error) {
	out, done, err := batch.OpenOutput(b.file(resultsName), true, nil)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, out.Close()) }()

	b.beginWith(done)
	b.mu.Lock()
	request := b.request
	b.mu.Unlock()
	shared, err := json.Marshal(common(request))
	if err != nil {
		return false, err
	}

	// The coordinator ends after the worker: it has the results that the worker still sends.
	judging, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()

	in, err := os.Open(b.file(inputName))
	if err != nil {
		return false, err
	}
	defer in.Close() //nolint:errcheck // it was only read

	again, err := os.Open(b.file(inputName))
	if err != nil {
		return false, err
	}
	defer again.Close() //nolint:errcheck // as above

	q := local.New()
	w := b.worker(q, shared)
	q.OnCancel(func() { w.CancelBatch(b.id) })
	working, rest := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() {
		w.Run(working)
		if ctx.Err() != nil {
			stop()
		}
	})

	defer running.Wait()
	defer rest()

	k := &batch.Coordinator{
		Queue: q, Input: batch.NewInput(&tail{b: b, ctx: judging, f: in}, 2*MaxLine),
		Ahead: batch.NewInput(&tail{b: b, ctx: judging, f: again}, 2*MaxLine), Decode: decodeStored, Output: out, Done: done,
		Problem: func(context.Context,
			string) (api.Run, string, error) {
			return common(request), sharedDigest, nil
		}, // the worker completes its jobs
		ID: b.id, Common: common(request), Digest: sharedDigest, Ordered: request.Ordered,
		SummaryOnly: request.Keep == api.KeepSummary, KeepOutput: request.KeepOutput,
		Window: func() int { return max(minWindow, 4*b.store.cfg.Slots()) }, WindowBytes: windowBytes / MaxBatches,
		Report: b.report, Canceled: b.canceled,
	}

	p, err := k.Run(judging)
	return p.AllRead && p.Released == 0 && p.Recorded == p.Read, err
}

// sharedDigest is under what name the worker finds what all jobs have in common.
const sharedDigest = "shared"

// worker makes the worker that executes the jobs of the batch. The queue of the service decides which of all
// workers gets a slot.
func (b *Batch) worker(q *local.Queue, shared []byte) *worker.Worker {
	source := func(urgent bool) func() worker.Source {
		return func() worker.Source {
			return worker.SourceOf(func(ctx context.Context, none func()) (*local.Delivery, error) {
				return q.Next(ctx, urgent, none)
			})
		}
	}

	cfg := b.store.cfg
	return &worker.Worker{
		Name: "service", Slots: cfg.Slots(), Jobs: source(false), Urgent: source(true), Drain: cfg.Drain,
		Log: cfg.Log, Healthy: cfg.Healthy,
		Execute: func(ctx context.Context, r api.Run) (api.RawResult, error) {
			job := worker.AskedOf(ctx)
			res, err := cfg.Execute(ctx, b.owner, r,
				runs.Origin{Asked: job.RunRequest, Batch: b.id, Job: job.Job, Trial: b.rejudge != nil})
			return api.RawResult{Result: res}, err
		},
		Tests: func(problem string) int {
			p, _ := cfg.Problem(b.owner, problem) // that it has gone shows when the job runs
			return p.Tests
		},
		Complete: func(ctx context.Context, problem string, r api.Run) (api.Run, func(), error) {
			return cfg.Complete(ctx, b.owner, problem, r)
		},
		Blob: func(_ context.Context, digest string) ([]byte, error) {
			if digest != sharedDigest {
				return nil, fmt.Errorf("a batch of the service has no content %s", digest)
			}
			return shared, nil
		},
	}
}

// beginWith takes over what the file of results has.
func (b *Batch) beginWith(done *batch.Recorded) {
	b.mu.Lock()
	b.began, b.before, b.results = time.Now(), done.Len(), done.Len()
	for _, s := range (api.JobStatus("")).Values() {
		b.statuses[s] = done.Count(s)
	}
	b.notify()
	b.mu.Unlock()
	b.countResults()
}

// report is batch.Coordinator.Report.
func (b *Batch) report(p batch.Progress) {
	b.mu.Lock()
	if p.Recorded == b.results {
		b.mu.Unlock()
		return
	}

	b.results = p.Recorded
	more := map[api.JobStatus]int64{}
	for s, n := range p.Statuses {
		more[s], b.statuses[s] = n-b.statuses[s], n
	}

	b.notify()
	b.mu.Unlock()
	for s, n := range more {
		if n > 0 {
			b.store.cfg.Ended(s, n)
		}
	}

	b.countResults()
}

// countResults counts the bytes of the results.
func (b *Batch) countResults() {
	info, err := os.Stat(b.file(resultsName))
	if err != nil {
		return // it was removed
	}

	b.mu.Lock()
	more := info.Size() - b.resultBytes
	if b.gone {
		more = 0
	}

	b.resultBytes += more
	b.mu.Unlock()
	b.store.mu.Lock()
	b.store.count(b.owner, more)
	b.store.mu.Unlock()
}

// A tail reads the jobs that are on disk, and waits for more until the batch takes none.
type tail struct {
	b   *Batch
	ctx context.Context // of the reads
	f   *os.File
	at  int64
}

// Read implements io.Reader.
func (t *tail) Read(p []byte) (int, error) {
	for {
		t.b.mu.Lock()
		size, closed, changed := t.b.size, t.b.closed, t.b.changed
		t.b.mu.Unlock()
		switch {
		case t.at < size:
			n, err := t.f.ReadAt(p[:min(int64(len(p)), size-t.at)], t.at)
			t.at += int64(n)
			if n > 0 {
				return n, nil
			}
			return 0, errors.Join(errors.New("the input of the batch is shorter than it was"), err)
		case closed:
			return 0, io.EOF
		}

		select {
		case <-changed:
		case <-t.ctx.Done():
			return 0, context.Cause(t.ctx)
		}
	}
}
