package worker

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/batch"
)

const (
	aloneFrom   = 3 // the attempt from which a job runs alone: it may be what ends workers
	keepOutput  = 4 * api.KiB
	maxBusy     = time.Minute // that a job waits for a slot of the agent
	maxFailures = 2           // of brig, in this worker: after them another one tries
)

// judge executes a job. The error is errCanceled, or why another worker should have the job.
func (w *Worker) judge(ctx context.Context, m batch.Message) (api.JobResult, error) {
	var work batch.Work
	if err := json.Unmarshal(m.Body, &work); err != nil {
		e := api.Fail(api.CodeInternal, "the message of the job cannot be read: %w: do the worker and the coordinator have the same version of brig?", err)
		return api.JobResult{Index: m.Index, Status: api.JobError, Error: e, Worker: w.Name}, nil
	}
	res := api.JobResult{ID: work.Job.ID, Index: work.Index, Meta: work.Job.Meta, Digest: work.Digest, Worker: w.Name}
	r, err := w.run(ctx, work)
	if err == nil && w.Refuse != nil {
		err = w.Refuse(r)
	}
	if api.HasCode(err, api.CodeNoBlob) && m.Attempt >= cmp.Or(work.MaxAttempts, batch.DefaultAttempts) {
		res.Attempts = m.Attempt
		return ended(res, api.JobError, api.Fail(api.CodeNoBlob, "%w", err)), nil
	}
	if err != nil {
		return w.failed(ctx, res, err)
	}
	last := errors.New("its workers ended while they executed it")
	if own := w.Images[r.Language]; work.Image != "" && own != "" && own != work.Image {
		if err := wait(ctx, pauseBeforeOther()); err != nil { // for a worker that has it to ask first
			return w.failed(ctx, res, err)
		}
		return res, notHere{fmt.Errorf("worker %s has the image %s of %s, and the batch was begun with %s", w.Name, own, r.Language, work.Image)}
	}
	for failures := 0; ; failures++ {
		res.Attempts = m.Attempt + failures
		switch {
		case res.Attempts > cmp.Or(work.MaxAttempts, batch.DefaultAttempts):
			return ended(res, api.JobError, api.Fail(api.CodePoison, "the job was begun %d times and never ended: the last time, %v", res.Attempts-1, last)), nil
		case failures == maxFailures:
			return res, last
		}
		got, began, err := w.attempt(ctx, m, r, res.Attempts >= aloneFrom)
		if err == nil {
			res.Queued = max(0, began.UnixNano()-work.Released)
			return judged(res, work, got), nil
		}
		if api.HasCode(err, api.CodeBusy, api.CodeOverloaded) {
			return res, notHere{err}
		}
		if context.Cause(ctx) != nil || !again(err) {
			return w.failed(ctx, res, err)
		}
		w.Log.Warn("brig failed; trying again", "batch", m.Batch, "index", m.Index, "attempt", res.Attempts, "err", err)
		last = err
		if err := w.recover(ctx, r, err); err != nil {
			return w.failed(ctx, res, err)
		}
	}
}

// failed is what comes of a job that was not executed.
func (w *Worker) failed(ctx context.Context, res api.JobResult, err error) (api.JobResult, error) {
	if cause := context.Cause(ctx); cause != nil {
		return res, cause
	}
	var e *api.Error
	if errors.As(err, &e) && !e.RetrySafe {
		return ended(res, api.JobRefused, e), nil
	}
	return res, err
}

// notHere is why a job was not executed in this worker, although nothing failed.
type notHere struct{ error }

// returned is the message that gives a job back.
func returned(res api.JobResult, why error) []byte {
	body, err := json.Marshal(batch.Returned{ID: res.ID, Index: res.Index, Digest: res.Digest, Returned: why.Error()})
	if err != nil {
		panic(fmt.Sprintf("texts have no JSON: %v", err))
	}
	return body
}

// again reports whether another attempt may succeed.
func again(err error) bool {
	var e *api.Error
	return errors.As(err, &e) && (e.RetrySafe || e.Code == api.CodeNoBlob || e.Code == api.CodeAgentGone)
}

// attempt executes a run once, when a slot of the agent is free.
func (w *Worker) attempt(ctx context.Context, m batch.Message, r api.Run, alone bool) (res api.Result, began time.Time, err error) {
	if alone {
		w.alone.Lock()
		defer w.alone.Unlock()
	} else {
		w.alone.RLock()
		defer w.alone.RUnlock()
	}
	give, err := w.slots.take(ctx, Weight(len(r.Tests), w.Slots))
	if err != nil {
		return res, began, err
	}
	defer give()
	first := time.Now()
	for pause := 2 * time.Millisecond; ; pause = min(2*pause, 100*time.Millisecond) {
		began = time.Now()
		w.Log.Debug("executing", "batch", m.Batch, "index", m.Index, "delivery", m.Attempt)
		res, err = w.Execute(ctx, r)
		// That others have the slots or the memory says nothing about the job: it is no attempt.
		if !api.HasCode(err, api.CodeBusy, api.CodeOverloaded) || time.Since(first) > maxBusy {
			break
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return res, began, context.Cause(ctx)
		}
	}
	if err == nil && res.Verdict == api.Canceled {
		err = api.Fail(api.CodeStopping, "the agent ended the run")
	}
	return res, began, err
}

// recover does what makes another attempt useful.
func (w *Worker) recover(ctx context.Context, r api.Run, err error) error {
	switch {
	case api.HasCode(err, api.CodeNoBlob): // the agent has removed it
		w.kept.forget(batch.Blobs(r))
		return w.keep(ctx, r)
	case api.HasCode(err, api.CodeAgentGone, api.CodeAgentUnreachable, api.CodeStopping):
		return w.waitForAgent(ctx)
	}
	return wait(ctx, time.Second)
}

// waitForAgent waits until the agent answers, for a time after which another worker should have the job.
func (w *Worker) waitForAgent(ctx context.Context) error {
	for until := time.Now().Add(maxBusy); ; {
		err := w.Healthy(ctx)
		if err == nil {
			return nil
		}
		if time.Now().After(until) {
			return err
		}
		if err := wait(ctx, 200*time.Millisecond); err != nil {
			return err
		}
	}
}

func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// pauseBeforeOther is how long a job waits before another worker gets it. Jobs that were given back together
// do not come back together.
func pauseBeforeOther() time.Duration { return time.Second + rand.N(4*time.Second) }

// run is what the agent executes of a job. Its blobs are at the agent.
func (w *Worker) run(ctx context.Context, work batch.Work) (api.Run, error) {
	r := work.Job.Run
	if work.Common != "" {
		common, err := w.commons.get(ctx, work.Common, w.Blob)
		if err != nil {
			return r, err
		}
		r = batch.Merged(r, common)
	}
	if len(r.Tests) > 0 && r.KeepOutput == 0 {
		r.KeepOutput = cmp.Or(work.KeepOutput, keepOutput)
	}
	if r.Collect.IsZero() {
		r.Collect.None = true
	}
	return r, w.keep(ctx, r)
}

// judged is the result of a job that was executed.
func judged(out api.JobResult, work batch.Work, res api.Result) api.JobResult {
	score := api.JobScore(res)
	out.Status, out.Verdict, out.Score, out.Summary = api.JobDone, res.Verdict, &score, res.Summary
	if s := res.Summary; s != nil {
		out.Answer, out.Points, out.MaxPoints = s.Answer, s.Points, s.MaxPoints
		res.Summary = nil // out has it
	}
	if !work.SummaryOnly {
		cut(&res.Stdout, &res.StdoutTruncated, cmp.Or(work.KeepOutput, keepOutput))
		cut(&res.Stderr, &res.StderrTruncated, cmp.Or(work.KeepOutput, keepOutput))
		out.Result = &res
	}
	return finished(out)
}

func cut(b *api.Bytes, truncated *bool, to api.Size) {
	if api.Size(len(*b)) > to {
		*b = (*b)[:to]
		*b, *truncated = (*b)[:len(*b)-b.IncompleteTail()], true
	}
}

func ended(out api.JobResult, s api.JobStatus, e *api.Error) api.JobResult {
	out.Status, out.Error = s, e
	return finished(out)
}

func finished(out api.JobResult) api.JobResult {
	out.Finished = time.Now().UTC().Format(time.RFC3339Nano)
	return out
}

// encode is the message of a result. One that is too large for a queue loses the output of its tests, and then
// all but its summary.
func encode(res api.JobResult) []byte {
	for {
		body, err := json.Marshal(res)
		if err != nil {
			panic(fmt.Sprintf("a result has no JSON: %v", err)) // it has no field that could fail
		}
		switch {
		case len(body) <= batch.MaxWork || res.Result == nil:
			return body
		case hasOutput(res.Result.Tests):
			small := *res.Result
			small.Tests = append([]api.TestResult(nil), small.Tests...)
			for i := range small.Tests {
				t := &small.Tests[i].Result
				t.StdoutTruncated, t.StderrTruncated = t.StdoutTruncated || len(t.Stdout) > 0, t.StderrTruncated || len(t.Stderr) > 0
				t.Stdout, t.Stderr = nil, nil
			}
			res.Result = &small
		default:
			res.Result = nil
		}
	}
}

func hasOutput(tests []api.TestResult) bool {
	for _, t := range tests {
		if len(t.Result.Stdout)+len(t.Result.Stderr) > 0 {
			return true
		}
	}
	return false
}
