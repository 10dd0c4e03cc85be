package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/batch"
)

// AloneFrom is the attempt from which a job runs alone: it may be what ends workers.
const AloneFrom = 3

const (
	keepOutput  = 4 * api.KiB
	maxBusy     = time.Minute // that a job waits for a slot of the agent
	maxFailures = 2           // of brig, in this worker: after them another one tries
)

// judge executes a job. The error is errCanceled, or why another worker should have the job.
func (w *Worker) judge(ctx context.Context, m batch.Message, job *held) (outcome, error) {
	var work batch.Work

	// encoding/json takes three times as long, most of it for the tests of jobs that have their own.
	if err := json.Unmarshal(m.Body, &work); err != nil {
		e := api.Fail(api.CodeInternal,
			"the message of the job cannot be read: %w: do the worker and the coordinator have the same version of brig?", err)
		return ended(api.JobResult{Index: m.Index, Worker: w.Name}, api.JobError, e), nil
	}

	res := api.JobResult{ID: work.Job.ID, Index: work.Index, Meta: work.Job.Meta, Digest: work.Digest, Worker: w.Name}
	r, err := w.run(ctx, work)
	if err == nil && w.Refuse != nil {
		err = w.Refuse(r)
	}

	var failure *api.Error
	if errors.As(err, &failure) && failure.RetrySafe && m.Attempt >= cmp.Or(work.MaxAttempts, batch.DefaultAttempts) {
		res.Attempts = m.Attempt
		return ended(res, api.JobError, failure), nil
	}
	if err != nil {
		return w.failed(ctx, res, err)
	}

	last := errors.New("its workers ended while they executed it")
	if own := w.Images[r.Language]; work.Image != "" && w.Images != nil && own != work.Image {
		if err := wait(ctx, pauseBeforeOther()); err != nil { // for a worker that has it to ask first
			return w.failed(ctx, res, err)
		}
		if own == "" {
			return outcome{JobResult: res},
				notHere{fmt.Errorf("worker %s has no image of %s: build or copy it there, and start the worker again", w.Name,
					r.Language)}
		}
		return outcome{JobResult: res},
			notHere{fmt.Errorf("worker %s has the image %s of %s, and the batch was begun with %s", w.Name, own,
				r.Language, work.Image)}
	}

	for failures := 0; ; failures++ {
		res.Attempts = m.Attempt + failures
		switch {
		case res.Attempts > cmp.Or(work.MaxAttempts, batch.DefaultAttempts):
			return ended(res, api.JobError, exhaustedAttempts(res.Attempts-1, last)), nil
		case failures == maxFailures:
			return outcome{JobResult: res}, last
		}

		got, began, err := w.attempt(withAsked(ctx, work.Job, r), m, r, work.Job.Problem, job, res.Attempts >= AloneFrom)
		if err == nil {
			res.Queued = max(0, began.UnixNano()-work.Released)
			return judged(res, work, got), nil
		}
		if api.HasCode(err, api.CodeBusy, api.CodeOverloaded) {
			return outcome{JobResult: res}, notHere{err}
		}
		if context.Cause(ctx) != nil || !again(err) {
			return w.failed(ctx, res, err)
		}

		w.Log.Warn("brig failed; trying again", "batch", m.Batch, "index", m.Index, "attempt", res.Attempts, "err", err)
		last = err
		res.Attempts++ // it counts, also if the job is given back
		job.slot.rest()
		if err := w.recover(ctx, r, err); err != nil {
			return w.failed(ctx, res, err)
		}
	}
}

// exhaustedAttempts is the error of a job that was begun so many times. It is poison if what executed it
// ended each time: then the job may be the cause. If the agent was there and reported a failure, that
// is the error.
func exhaustedAttempts(times int, last error) *api.Error {
	var e *api.Error
	if errors.As(last, &e) && again(last) &&
		!api.HasCode(last, api.CodeAgentGone, api.CodeAgentUnreachable, api.CodeStopping) {
		return api.Fail(e.Code, "brig failed %d times: the last time, %w", times, last)
	}
	return api.Fail(api.CodePoison, "the job was begun %d times and never ended: the last time, %w", times, last)
}

// failed is what comes of a job that was not executed.
func (w *Worker) failed(ctx context.Context, res api.JobResult, err error) (outcome, error) {
	if cause := context.Cause(ctx); cause != nil {
		return outcome{JobResult: res}, cause
	}
	var e *api.Error
	if errors.As(err, &e) && !e.RetrySafe {
		return ended(res, api.JobRefused, e), nil
	}
	return outcome{JobResult: res}, err
}

// notHere is why a job was not executed in this worker, although nothing failed.
type notHere struct{ error }

// returned is the message that gives a job back after so many attempts.
func returned(res api.JobResult, attempts int, why error) []byte {
	return marshal(batch.HandBack{ID: res.ID, Index: res.Index, Digest: res.Digest, Attempts: attempts,
		Reason: why.Error()})
}

// again reports whether another attempt may succeed.
func again(err error) bool {
	var e *api.Error
	return errors.As(err, &e) && (e.RetrySafe || e.Code == api.CodeNoBlob || e.Code == api.CodeAgentGone)
}

// attempt executes a run once, when a slot of the agent is free. That others have the slots or the memory of the agent
// says nothing about the job: it is no attempt, and the job gives up its place for one that is urgent.
func (w *Worker) attempt(ctx context.Context, m batch.Message, r api.Run, problem string, job *held,
	suspect bool) (res api.RawResult, began time.Time, err error) {
	var busySince time.Time
	for pause := 2 * time.Millisecond; ; pause = min(2*pause, 100*time.Millisecond) {
		began, res, err = w.executeInSlot(ctx, m, r, problem, job, suspect)
		if !api.HasCode(err, api.CodeBusy, api.CodeOverloaded) {
			break
		}
		if busySince.IsZero() {
			busySince = began
		}
		if time.Since(busySince) > maxBusy {
			break
		}
		if err := wait(ctx, pause); err != nil {
			return res, began, err
		}
	}

	if err == nil && res.Verdict == api.Canceled {
		err = api.Fail(api.CodeStopping, "the agent ended the run")
	}
	return res, began, err
}

// executeInSlot takes a slot, executes a run, and gives the slot back. A suspect runs alone.
func (w *Worker) executeInSlot(ctx context.Context, m batch.Message, r api.Run, problem string, job *held,
	suspect bool) (began time.Time, res api.RawResult, err error) {
	if err := job.slot.take(ctx); err != nil {
		return began, res, err
	}
	defer func() { job.slot.give(api.HasCode(err, api.CodeBusy, api.CodeOverloaded)) }()

	if err := job.begin(ctx, suspect); err != nil {
		return began, res, err
	}
	defer job.pause()

	began = time.Now()
	w.Log.Debug("executing", "batch", m.Batch, "index", m.Index, "delivery", m.Attempt)
	res, err = w.execute(ctx, r, problem)
	return began, res, err
}

// tests is how many tests a run will have.
func (w *Worker) tests(r api.Run, problem string) int {
	if problem == "" || w.Tests == nil {
		return len(r.Tests)
	}
	return w.Tests(problem)
}

// execute executes a run once, with what its problem says.
func (w *Worker) execute(ctx context.Context, r api.Run, problem string) (api.RawResult, error) {
	if problem != "" && w.Complete != nil {
		whole, free, err := w.Complete(ctx, problem, r)
		if err != nil {
			return api.RawResult{}, err
		}
		defer free()
		r = whole
	}
	return w.Execute(ctx, r)
}

// recover does what makes another attempt useful.
func (w *Worker) recover(ctx context.Context, r api.Run, err error) error {
	switch {
	case api.HasCode(err, api.CodeNoBlob): // the agent has removed it
		w.kept.forget(r.Blobs())
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
	if w.tests(r, work.Job.Problem) > 0 && r.KeepOutput == 0 {
		r.KeepOutput = cmp.Or(work.KeepOutput, keepOutput)
	}
	if r.Collect.IsZero() {
		r.Collect.None = true
	}
	return r, w.keep(ctx, r)
}
