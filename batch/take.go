package batch

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/api/decode"
)

// take releases the job of a line, or records why not. ahead: the line is one of Ahead.
func (r *run) take(ctx context.Context, l Line, ahead bool) error {
	if l.Defaults != nil {
		return r.takeDefaults(ctx, l)
	}

	r.progress.Read++
	r.read.add(l.Index)
	j, common, err := r.job(ctx, l)
	var refused *api.Error
	if err != nil && (!errors.As(err, &refused) || refused.RetrySafe || r.Strict) {
		return fmt.Errorf("line %d: %w", l.Number, err)
	}

	digest := Digest(j, common)
	if err := r.done.check(l.Index, digest); err != nil {
		return err
	}
	if r.done.Has(l.Index) {
		return nil
	}

	id := cmp.Or(j.ID, fmt.Sprintf("line %d", l.Number))
	switch {
	case refused != nil:
		return r.recordOwn(api.JobResult{ID: id, Index: l.Index, Status: api.JobRefused, Error: refused,
			Meta: j.Meta, Digest: digest})
	case r.canceled:
		return r.recordOwn(canceledResult(&flight{message: Message{Index: l.Index}, id: id, digest: digest, meta: j.Meta}))
	}

	return r.release(ctx, l.Index, j, common, digest, ahead)
}

// takeDefaults takes a first line with defaults.
func (r *run) takeDefaults(ctx context.Context, l Line) error {
	own, err := decode.Run(l.Defaults)
	if err == nil && r.Permit != nil {
		err = r.Permit(own)
	}
	if err == nil {
		r.defaults = own
		r.Common = Merged(own, r.Common)
		r.Digest, err = r.Put(ctx, r.Common)
	}
	if err != nil {
		return fmt.Errorf("line %d: %w", l.Number, err)
	}
	return nil
}

// job reads and completes the job of a line, and returns the digest of what it has in common with others. Its
// fields are set as far as they could be read, also with an error.
func (r *run) job(ctx context.Context, l Line) (j api.Job, common string, err error) {
	if l.TooLong {
		return j, "", api.Refuse(api.CodeTooLarge, "the line has more than %d bytes: name large files as blobs", r.Input.max)
	}
	if l.Index >= MaxJobs {
		return j, "", fmt.Errorf("a batch has at most %d jobs: split the input", MaxJobs)
	}

	read := r.Decode
	if read == nil {
		read = decode.Job
	}
	if j, err = read(l.Text); err != nil {
		return j, "", err
	}
	if err := r.checkHead(&j); err != nil {
		return j, "", err
	}
	if r.Permit != nil {
		if err := r.Permit(j.Run); err != nil {
			return j, "", err
		}
	}
	if j.Language == "" { // Prepare adds what a language needs
		j.Language = r.defaults.Language
	}

	with, common := r.Common, r.Digest
	if j.Problem != "" { // its part in common with others has no defaults
		j.Run = Merged(j.Run, r.defaults)
		if with, common, err = r.problem(ctx, j); err != nil {
			return j, "", err
		}
	}
	if r.Prepare != nil {
		if err := r.Prepare(ctx, &j); err != nil {
			return j, common, err
		}
	}

	merged := Merged(j.Run, with)
	return j, common, cmp.Or(merged.Validate(), merged.TTY.RefuseUnstreamed(), merged.Collect.RefuseBlobs())
}

// checkHead checks what a job has in addition to a run.
func (r *run) checkHead(j *api.Job) error {
	if err := CheckHead(j); err != nil {
		return err
	}
	if !r.ids.add(maphash.String(r.seed, j.ID)) {
		return api.Refuse(api.CodeBadRequest, "another job has the id %.80q: each needs its own", j.ID)
	}
	return nil
}

// CheckHead checks the id and the meta of a job. It removes what is too long for a result.
func CheckHead(j *api.Job) error {
	switch {
	case j.ID == "":
		return api.Refuse(api.CodeBadRequest,
			"the job has no id: give it one of 1 to %d bytes, unique in the batch", api.MaxJobID)
	case len(j.ID) > api.MaxJobID:
		n := len(j.ID)
		j.ID = ""
		return api.Refuse(api.CodeBadRequest, "the job has an id of %d bytes: the maximum is %d", n, api.MaxJobID)
	case len(j.Meta) > api.MaxJobMeta:
		n := len(j.Meta)
		j.Meta = nil
		return api.Refuse(api.CodeBadRequest, "meta has %d bytes: the maximum is %d", n, api.MaxJobMeta)
	}

	return nil
}

// problem is what the jobs of a job's problem have in common.
func (r *run) problem(ctx context.Context, j api.Job) (api.Run, string, error) {
	switch {
	case r.Problem == nil:
		return api.Run{}, "", api.Refuse(api.CodeBadRequest,
			"the job names the problem %.80q, and this batch takes no problems", j.Problem)
	case len(j.Tests) > 0, len(j.Groups) > 0, j.Check != nil, j.Interactor != nil, j.Call != nil, j.Passes != 0,
		j.Compare != (api.Compare{}),
		j.InputFile != "", j.OutputFile != "":
		return api.Run{}, "", api.Refuse(api.CodeBadRequest,
			"problem has the tests and how they are judged: leave out tests, groups, check, interactor, call, "+
				"passes, compare, input_file and output_file")
	}
	return r.Coordinator.Problem(ctx, j.Problem)
}

// release gives a job to the workers, unless it is under way since before the batch was resumed.
func (r *run) release(ctx context.Context, index int64, j api.Job, common, digest string, ahead bool) error {
	var image string
	if language := cmp.Or(j.Language, r.Common.Language); r.Image != nil && j.Image == "" && language != "" {
		var err error
		if image, err = r.Image(ctx, language); err != nil {
			return err
		}
	}

	now := time.Now()
	body, err := json.Marshal(Work{
		Job: j, Common: common, Image: image, Index: index, Digest: digest, KeepOutput: r.KeepOutput,
		SummaryOnly: r.SummaryOnly,
		MaxAttempts: cmp.Or(r.MaxAttempts, DefaultAttempts), Released: now.UnixNano(),
	})
	if err != nil {
		return err
	}
	if len(body) > MaxWork {
		e := api.Refuse(api.CodeTooLarge,
			"the job has %d bytes of source and tests: the maximum is %d; place large files next to it as blobs", len(body),
			MaxWork)
		return r.recordOwn(api.JobResult{ID: j.ID, Index: index, Status: api.JobRefused, Error: e,
			Meta: j.Meta, Digest: digest})
	}

	m := Message{Batch: r.ID, Index: index, Epoch: r.epoch, Pool: r.Pool, Urgent: r.Urgent ||
		j.Urgent, Attempt: 1, Body: body}
	r.flights[index] = &flight{message: m, id: j.ID, digest: digest, ahead: ahead, meta: j.Meta, since: now}
	if ahead {
		r.ahead++
	}

	r.bytes += int64(len(body))
	if early, ok := r.early[index]; ok {
		delete(r.early, index)
		return r.record(ctx, early)
	}
	if r.underWay[index] {
		return nil
	}
	return r.Queue.Release(ctx, m)
}

// findLost releases again the jobs that have had no result for some time, and that the queue does not hold.
func (r *run) findLost(ctx context.Context, after time.Duration) error {
	var old []*flight
	for _, f := range r.flights {
		if time.Since(f.since) >= after {
			old = append(old, f)
		}
	}

	if len(old) == 0 {
		return nil
	}

	there, err := r.Queue.UnderWay(ctx, r.ID)
	if err != nil {
		return err
	}

	for _, f := range old {
		if f.since = time.Now(); there[f.message.Index] {
			continue
		}
		f.message.Attempt++
		r.progress.Again++
		if err := r.Queue.Release(ctx, f.message); err != nil {
			return err
		}
	}

	return nil
}
