package batches

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/history"
	"github.com/brig-sandbox/brig/service/runs"
)

// A rejudge is what a batch knows whose jobs are past runs. Each job has the id of its run.
type rejudge struct {
	Request      api.RejudgeRequest   `json:"request"`
	LeftOut      []api.RejudgeLeftOut `json:"left_out,omitempty"`
	LeftOutTotal int64                `json:"left_out_total,omitempty"`
	Applying     time.Time            `json:"applying,omitzero"` // set before the history changes
	Applied      time.Time            `json:"applied,omitzero"`
	Discarded    time.Time            `json:"discarded,omitzero"`
}

const (
	maxRejudged = 20_000 // runs of one rejudge: applying it is one transaction, for which all that record runs wait
	maxChosen   = 1000   // ids in a request
	maxLeftOut  = 1000   // listed
)

// before is what a job of a rejudge has as its meta: what is known of the old run.
type before struct {
	Old  api.Judged `json:"old"`
	Task string     `json:"task,omitempty"`
	Job  string     `json:"job,omitempty"`
}

// again makes the job that judges a run again; why says why there is none.
func again(s history.Submission) (line []byte, why string) {
	k := s.Request
	switch {
	case s.Problem == "":
		return nil, "no stored problem judged it: its tests are not kept"
	case k == nil:
		return nil, "its request is not kept"
	case k.Settings == nil:
		return nil, "the settings of its request are not kept"
	case len(k.Missing) > 0:
		return nil, fmt.Sprintf("of its request these are not kept, or not whole: %v", k.Missing)
	}

	b := before{Old: api.JudgedOf(s.Verdict, s.Summary), Task: s.Task, Job: s.Job}
	if s.Code != "" {
		b.Old = api.Judged{Outcome: brigFailed}
	}
	meta, err := json.Marshal(b)
	if err != nil {
		return nil, err.Error()
	}

	ask := runs.RequestOf(*k)
	ask.Run.Labels.Run = "" // that of the batch: none
	ask.KeepOutput = 0      // that of the batch, which a job of a batch was executed with, too
	line, err = json.Marshal(api.Job{ID: s.ID, Problem: s.Problem, Meta: meta, Run: ask.Run})
	if err != nil {
		return nil, err.Error()
	}
	if len(line) > MaxLine {
		return nil, "its request is too large"
	}
	return append(line, '\n'), ""
}

// brigFailed is the outcome of a run without a verdict.
const brigFailed = "error"

// A tally counts the results of a rejudge, as far as it has read them.
type tally struct {
	at                int64 // in the file of results
	judged, notJudged int64
	changed           int64
	cells             map[[2]string]api.RejudgeCell
}

// changeOf reads a line of the results of a rejudge.
func changeOf(text []byte) (c api.RejudgeChange, err error) {
	var r struct {
		ID      string        `json:"id"`
		Status  api.JobStatus `json:"status"`
		Run     string        `json:"run_id"`
		Verdict api.Verdict   `json:"verdict"`
		Summary *api.Summary  `json:"summary"`
		Error   *api.Error    `json:"error"`
		Meta    before        `json:"meta"`
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return c, err
	}

	c = api.RejudgeChange{Run: r.ID, Task: r.Meta.Task, Job: r.Meta.Job, Old: r.Meta.Old, Error: r.Error}
	if r.Status == api.JobDone && r.Verdict != api.Canceled {
		now := api.JudgedOf(r.Verdict, r.Summary)
		c.NewRun, c.New, c.Changed = r.Run, &now, !now.Same(c.Old)
	}
	return c, nil
}

// eachChange calls do for the lines of results from a place in the file on. It returns the place after the last one.
func (b *Batch) eachChange(at int64, do func(api.RejudgeChange) error) (after int64, err error) {
	f, err := os.Open(b.file(resultsName))
	if errors.Is(err, fs.ErrNotExist) {
		return at, nil
	}
	if err != nil {
		return at, err
	}
	defer f.Close() //nolint:errcheck // it was only read

	if _, err := f.Seek(at, io.SeekStart); err != nil {
		return at, err
	}
	in := bufio.NewReaderSize(f, 64<<10)
	for {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) { // what comes after the last whole line is being written
			return at, nil
		}
		if err != nil {
			return at, err
		}

		at += int64(len(line))
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		c, err := changeOf(line)
		if err != nil {
			return at, err
		}
		if err := do(c); err != nil {
			return at, err
		}
	}
}

// Rejudge returns the state of a rejudge.
func (b *Batch) Rejudge() (api.Rejudge, error) {
	status := b.Status()
	b.tallying.Lock()
	defer b.tallying.Unlock()

	t := &b.tallied
	if t.cells == nil {
		t.cells = map[[2]string]api.RejudgeCell{}
	}
	var err error
	t.at, err = b.eachChange(t.at, func(c api.RejudgeChange) error {
		if c.New == nil {
			t.notJudged++
			return nil
		}
		key := [2]string{c.Old.Outcome, c.New.Outcome}
		cell := t.cells[key]
		cell.Old, cell.New, cell.Count = key[0], key[1], cell.Count+1
		if c.Changed {
			cell.Changed++
			t.changed++
		}
		t.cells[key] = cell
		t.judged++
		return nil
	})
	if err != nil {
		return api.Rejudge{}, err
	}

	b.mu.Lock()
	defer b.mu.Unlock()
	r := api.Rejudge{ID: b.id, State: api.RejudgeRunning, Request: b.rejudge.Request, Batch: status, Judged: t.judged,
		NotJudged: t.notJudged, Changed: t.changed, Matrix: []api.RejudgeCell{},
		LeftOut: append([]api.RejudgeLeftOut{}, b.rejudge.LeftOut...), LeftOutTotal: b.rejudge.LeftOutTotal}
	for _, cell := range t.cells {
		r.Matrix = append(r.Matrix, cell)
	}
	slices.SortFunc(r.Matrix, func(a, b api.RejudgeCell) int {
		return cmp.Or(cmp.Compare(a.Old, b.Old), cmp.Compare(a.New, b.New))
	})

	switch {
	case !b.rejudge.Applied.IsZero():
		r.State, r.Applied = api.RejudgeApplied, &b.rejudge.Applied
	case !b.rejudge.Discarded.IsZero():
		r.State, r.Discarded = api.RejudgeDiscarded, &b.rejudge.Discarded
	case b.isCanceled():
		r.State = api.RejudgeDiscarded
	case !b.ended.IsZero():
		r.State = api.RejudgeReady
	}
	return r, nil
}

// Changes returns up to limit runs of a rejudge after so many, and whether there are more. With all, also those that
// did not change.
func (b *Batch) Changes(after, limit int64, all bool) (list []api.RejudgeChange, more bool, err error) {
	errEnough := errors.New("enough")
	n := int64(0)
	list = []api.RejudgeChange{}
	_, err = b.eachChange(0, func(c api.RejudgeChange) error {
		if !all && !c.Changed {
			return nil
		}
		if n++; n <= after {
			return nil
		}
		if int64(len(list)) == limit {
			return errEnough
		}
		list = append(list, c)
		return nil
	})
	if errors.Is(err, errEnough) {
		return list, true, nil
	}
	return list, false, err
}

// Apply has the runs that changed replaced by the new ones: all of them, or none. To apply again has no effect.
//
// A process that ends in between leaves Applying set: whether the history has changed is then unknown, so that only
// applying again is allowed, which repeats the same replacements (TestRejudgeThatEndsWhileItIsApplied).
func (b *Batch) Apply(replace func([]history.Replacement) error) error {
	b.applying.Lock()
	defer b.applying.Unlock()

	now, err := b.Rejudge()
	if err != nil {
		return err
	}
	switch now.State {
	case api.RejudgeApplied:
		return nil
	case api.RejudgeDiscarded:
		return api.Refuse(api.CodeConflict, "rejudge %.64s was discarded or canceled: rejudge again", b.id)
	case api.RejudgeRunning:
		return api.Refuse(api.CodeConflict, "of the %d runs of rejudge %.64s %d are judged: apply it when all are",
			now.Batch.Jobs, b.id, now.Batch.Results)
	}

	var pairs []history.Replacement
	if _, err := b.eachChange(0, func(c api.RejudgeChange) error {
		if c.Changed {
			pairs = append(pairs, history.Replacement{Old: c.Run, New: c.NewRun})
		}
		return nil
	}); err != nil {
		return err
	}

	if err := b.note(func(r *rejudge) { r.Applying = time.Now().UTC() }); err != nil {
		return err
	}
	if err := replace(pairs); err != nil {
		var refused *api.Error
		if errors.As(err, &refused) && refused.Code == api.CodeConflict { // nothing was replaced
			err = errors.Join(err, b.note(func(r *rejudge) { r.Applying = time.Time{} }))
		}
		return err
	}
	return b.note(func(r *rejudge) { r.Applied = time.Now().UTC() })
}

// Discard ends a rejudge: the old outcomes count. What is not judged yet is canceled. To discard again has no effect.
func (b *Batch) Discard() error {
	b.applying.Lock()
	defer b.applying.Unlock()

	b.mu.Lock()
	r := *b.rejudge
	b.mu.Unlock()
	switch {
	case !r.Applied.IsZero():
		return api.Refuse(api.CodeConflict, "rejudge %.64s was applied: rejudge again to change the outcomes", b.id)
	case !r.Applying.IsZero():
		return api.Refuse(api.CodeConflict,
			"rejudge %.64s was being applied when the service ended or the history failed: apply it again", b.id)
	case !r.Discarded.IsZero():
		return nil
	}
	if err := b.Cancel(); err != nil {
		return err
	}
	return b.note(func(r *rejudge) { r.Discarded = time.Now().UTC() })
}

// note records that a rejudge was applied or discarded. If it cannot be stored, it is not.
func (b *Batch) note(change func(*rejudge)) error {
	b.mu.Lock()
	defer b.mu.Unlock()

	old := *b.rejudge
	change(b.rejudge)
	if err := b.write(); err != nil {
		*b.rejudge = old
		return api.Fail(api.CodeHostExhausted, "the rejudge cannot be stored: %w", err)
	}
	b.notify()
	return nil
}
