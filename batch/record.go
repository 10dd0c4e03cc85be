package batch

import (
	"bytes"
	"cmp"
	"context"
	stdjson "encoding/json"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"

	"github.com/brig-sandbox/brig/api"
)

// head is what the coordinator reads of a result.
type head struct {
	ID     string        `json:"id"`
	Index  int64         `json:"index"`
	Status api.JobStatus `json:"status"`
	Answer api.Answer    `json:"answer"`
	Score  *float64      `json:"score"`
	Error  *headError    `json:"error"`
	Digest string        `json:"digest"`

	Returned string `json:"returned"` // of a HandBack
	Attempts int    `json:"attempts"` // of a HandBack
}

type headError struct {
	Message string `json:"message"`
}

// record takes a result from the queue. One that was recorded already is dropped, and one of another job.
func (r *run) record(ctx context.Context, m Message) error {
	if m.Body == nil && r.stopping {
		return nil // what is lost is released when the batch is resumed
	}

	if m.Body == nil {
		if r.KeepAgain != nil {
			if err := r.KeepAgain(ctx); err != nil {
				return err
			}
		}
		return r.findLost(ctx, 0)
	}

	f, ok := r.flights[m.Index]
	if !ok && !r.read.has(m.Index) && r.underWay[m.Index] { // the queue sends it once, and would never lose the job
		r.early[m.Index] = m
		return nil
	}
	if !ok {
		r.progress.Dropped++
		if !r.read.has(m.Index) { // it is of nothing that was released, and would keep out the result
			return r.Queue.Remove(ctx, r.ID, m.Index)
		}
		return nil
	}

	h, ok := readHead(m.Body)
	if h.Returned != "" && h.Index == m.Index && h.ID == f.id && h.Digest == f.digest {
		if err := r.Queue.Remove(ctx, r.ID, m.Index); err != nil {
			return err
		}
		if r.stopping {
			r.land(f) // it is judged when the batch is resumed
			return nil
		}
		f.since = time.Now()
		f.message.Attempt++
		f.message.Before = min(max(f.message.Before, h.Attempts), cmp.Or(r.MaxAttempts, DefaultAttempts))
		return r.Queue.Release(ctx, f.message)
	}

	if !ok || h.Index != m.Index || h.ID != f.id || h.Digest != f.digest {
		e := api.Fail(api.CodeInternal, "a worker sent something that is no result of this job")
		return r.recordOwn(api.JobResult{ID: f.id, Index: m.Index, Status: api.JobError, Error: e,
			Meta: f.meta, Digest: f.digest})
	}
	if h.Error != nil {
		r.notDone(h.ID, h.Status, h.Error.Message)
	}

	return r.end(line{index: m.Index, sequence: m.Sequence, text: append(m.Body, '\n'),
		status: h.Status, answer: h.Answer})
}

// readHead reads what a worker sent. It is false if that would not be one line of the results, or a line that no
// reader expects: only a job that is done has a score, and each other one has an error. Nothing of a field that is
// given twice is taken: readers would not agree on which one counts.
func readHead(body []byte) (h head, ok bool) {
	// encoding/json takes three times as long, and a body is mostly the results of tests, which are only skipped.
	if bytes.IndexByte(body, '\n') >= 0 || bytes.IndexByte(body, '\r') >= 0 || !utf8.Valid(body) ||
		json.Unmarshal(body, &h) != nil {
		return h, false
	}
	done := h.Status == api.JobDone
	return h, slices.Contains(statuses[:], h.Status) && done == (h.Score != nil) && done == (h.Error == nil)
}

// recordOwn records a result that the coordinator made. It has an error.
func (r *run) recordOwn(res api.JobResult) error {
	text, err := stdjson.Marshal(res)
	if err != nil {
		return err
	}
	r.notDone(res.ID, res.Status, res.Error.Message)
	return r.end(line{index: res.Index, text: append(text, '\n'), status: res.Status, answer: res.Answer})
}

// notDone keeps why a job is not done, of the first one.
func (r *run) notDone(id string, s api.JobStatus, why string) {
	if r.progress.NotDone == "" {
		r.progress.NotDone = fmt.Sprintf("%s is %s: %s", id, s, why)
	}
}

// end passes on a result to the writer, in its turn.
func (r *run) end(l line) error {
	if f := r.flights[l.index]; f != nil {
		r.land(f)
	}
	r.bytes += int64(len(l.text))
	r.writer.write(r.order.ready(l), len(r.flights))
	return nil
}

// land takes a job out of those that are released.
func (r *run) land(f *flight) {
	delete(r.flights, f.message.Index)
	r.bytes -= int64(len(f.message.Body))
	if f.ahead {
		r.ahead--
	}
}

// wrote counts what is on disk.
func (r *run) wrote(ctx context.Context, w written) error {
	if w.err != nil {
		return w.err
	}

	r.writer.waiting -= len(w.lines)
	r.progress.Recorded += int64(len(w.lines))
	last := r.forgot
	for _, l := range w.lines {
		r.progress.Statuses[l.status]++
		r.bytes -= int64(len(l.text))
		r.recorded += int64(len(l.text))
		if l.answer != "" {
			r.progress.Answers[l.answer]++
		}
		last = max(last, l.sequence)
	}

	if last-r.forgot < forgetAtOnce && r.recorded < forgetBytes {
		return nil
	}

	r.forgot, r.recorded = last, 0
	return r.Queue.Forget(ctx, r.ID, last)
}

// The queue forgets recorded results when it holds so many of them, or of their bytes: large results would
// otherwise fill the memory of an engine, and then no worker could send one.
const (
	forgetAtOnce = 256
	forgetBytes  = 32 << 20
)

// cancelAll records the jobs that are released as canceled, and has workers end them.
func (r *run) cancelAll(ctx context.Context) error {
	r.canceled = true
	if err := r.Queue.Cancel(ctx, r.ID); err != nil {
		return err
	}
	for _, f := range r.flights {
		if err := r.recordOwn(canceledResult(f)); err != nil {
			return err
		}
	}
	return nil
}

func canceledResult(f *flight) api.JobResult {
	e := api.Fail(api.CodeCanceled, "the batch was canceled before the job was judged")
	return api.JobResult{ID: f.id, Index: f.message.Index, Status: api.JobCanceled, Error: e,
		Meta: f.meta, Digest: f.digest}
}
