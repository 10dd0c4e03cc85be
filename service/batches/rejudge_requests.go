package batches

import (
	"bytes"
	"context"
	"math"
	"net/http"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/core"
	"github.com/brig-sandbox/brig/service/history"
)

// filterOf is which runs of a caller a request chooses.
func filterOf(c core.Caller, ask api.RejudgeRequest) (f history.Filter, err error) {
	switch {
	case ask.Problem == "" && ask.Batch == "" && len(ask.Runs) == 0:
		return f, api.Refuse(api.CodeBadRequest, "nothing says which runs: set problem, batch or runs")
	case len(ask.Runs) > maxChosen:
		return f, api.Refuse(api.CodeBadRequest, "runs has %d ids, and the maximum is %d: choose by problem or batch",
			len(ask.Runs), maxChosen)
	}

	f = history.Filter{Scope: history.Scope{Owner: c.Name}, Problem: ask.Problem, Batch: ask.Batch, Project: ask.Project,
		Task: ask.Task, Run: ask.Run, Language: ask.Language}
	if ask.Since != nil {
		f.Since = *ask.Since
	}
	if ask.Until != nil {
		f.Until = *ask.Until
	}
	f.Verdicts, f.Failed, err = history.ParseVerdicts(ask.Verdicts)
	return f, err
}

// An opening collects the jobs of a rejudge.
type opening struct {
	store  *Store
	caller core.Caller
	again  *rejudge
	batch  *Batch // nil: no job was written yet
	lines  bytes.Buffer
	found  map[string]bool
}

// add adds a run, or notes why it cannot be judged again.
func (o *opening) add(s history.Submission) error {
	o.found[s.ID] = true
	line, why := again(s)
	if why != "" {
		o.leaveOut(s.ID, why)
		return nil
	}
	o.lines.Write(line)
	if o.lines.Len() < commitBytes {
		return nil
	}
	return o.flush()
}

func (o *opening) leaveOut(id, why string) {
	if o.again.LeftOutTotal++; len(o.again.LeftOut) < maxLeftOut {
		o.again.LeftOut = append(o.again.LeftOut, api.RejudgeLeftOut{Run: id, Why: why})
	}
}

// flush brings the jobs to the batch, which it opens with the first ones.
func (o *opening) flush() (err error) {
	if o.lines.Len() == 0 {
		return nil
	}
	if o.batch == nil {
		open := &rejudge{Request: o.again.Request}
		if o.batch, err = o.store.create(o.caller.Name, "", api.BatchRequest{Keep: api.KeepSummary}, limitsOf(o.caller), open); err != nil {
			return err
		}
	}
	_, err = o.batch.Take(NewLines(&o.lines), limitsOf(o.caller), true)
	o.lines.Reset()
	return err
}

// openRejudge opens a rejudge with all its jobs. After an error there is none.
func (bs *Batches) openRejudge(ctx context.Context, s *Store, c core.Caller, ask api.RejudgeRequest) (b *Batch, err error) {
	f, err := filterOf(c, ask)
	if err != nil {
		return nil, err
	}

	o := &opening{store: s, caller: c, again: &rejudge{Request: ask}, found: map[string]bool{}}
	defer func() {
		if err != nil && o.batch != nil {
			if cerr := o.batch.Cancel(); cerr != nil {
				bs.Log.Error("a rejudge that could not be opened is not canceled", "batch", o.batch.id, "err", cerr)
			}
		}
	}()

	if err := bs.Config.History.Submissions(ctx, f, ask.Runs, maxRejudged, o.add); err != nil {
		return nil, err
	}
	if err := o.flush(); err != nil {
		return nil, err
	}
	for _, id := range ask.Runs {
		if !o.found[id] {
			o.leaveOut(id, "there is no such run of this key that counts and matches")
		}
	}

	switch {
	case o.batch == nil && o.again.LeftOutTotal > 0:
		first := o.again.LeftOut[0]
		return nil, api.Refuse(api.CodeConflict, "none of the %d runs that match can be judged again: of run %.64s, %s",
			o.again.LeftOutTotal, first.Run, first.Why)
	case o.batch == nil:
		return nil, api.Refuse(api.CodeNotFound, "no run of this key matches")
	}

	if err := o.batch.note(func(r *rejudge) { r.LeftOut, r.LeftOutTotal = o.again.LeftOut, o.again.LeftOutTotal }); err != nil {
		return nil, err
	}
	return o.batch, o.batch.Close()
}

// postRejudge judges past runs again.
func (bs *Batches) postRejudge(w http.ResponseWriter, r *http.Request) error {
	s, err := bs.opened()
	if err != nil {
		return err
	}

	raw, release, err := bs.ReadBody(w, r)
	if err != nil {
		return err
	}
	defer release()

	ask, err := core.ParseBodyAs[api.RejudgeRequest](bs.Core, r.Context(), raw, "request")
	if err != nil {
		return err
	}
	b, err := bs.openRejudge(r.Context(), s, core.CallerOf(r.Context()), ask)
	if err != nil {
		return err
	}
	w.Header().Set("Location", "/v1/rejudges/"+b.ID())
	return bs.replyRejudge(w, r, http.StatusCreated, b)
}

func (bs *Batches) replyRejudge(w http.ResponseWriter, r *http.Request, status int, b *Batch) error {
	now, err := b.Rejudge()
	if err != nil {
		return err
	}
	bs.Reply(w, r, status, now)
	return nil
}

// rejudgeOf returns the rejudge that a request names.
func (bs *Batches) rejudgeOf(r *http.Request) (*Batch, error) {
	b, err := bs.batchOf(r)
	if err == nil && b.rejudge == nil {
		err = api.Refuse(api.CodeNotFound, "batch %.64q is no rejudge", b.id)
	}
	return b, err
}

func (bs *Batches) getRejudge(w http.ResponseWriter, r *http.Request) error {
	b, err := bs.rejudgeOf(r)
	if err != nil {
		return err
	}
	return bs.replyRejudge(w, r, http.StatusOK, b)
}

// getRejudges lists the rejudges of the key, the newest first.
func (bs *Batches) getRejudges(w http.ResponseWriter, r *http.Request) error {
	s, err := bs.opened()
	if err != nil {
		return err
	}

	page := api.Page[api.Rejudge]{Items: []api.Rejudge{}}
	for _, b := range s.List(core.CallerOf(r.Context()).Name) {
		if b.rejudge == nil {
			continue
		}
		now, err := b.Rejudge()
		if err != nil {
			return err
		}
		now.LeftOut = []api.RejudgeLeftOut{} // each may be long; GET of one has them
		page.Items = append(page.Items, now)
	}
	bs.Reply(w, r, http.StatusOK, page)
	return nil
}

// getChanges lists runs of a rejudge with their old and new outcomes.
func (bs *Batches) getChanges(w http.ResponseWriter, r *http.Request) error {
	b, err := bs.rejudgeOf(r)
	if err != nil {
		return err
	}

	after, err := count(r, "after", 0, math.MaxInt64)
	if err != nil {
		return err
	}
	limit, err := count(r, "limit", 1, maxPage)
	if err != nil {
		return err
	}
	if limit == 0 {
		limit = defaultPage
	}
	all, err := core.Flag(r.URL.Query(), "unchanged")
	if err != nil {
		return err
	}

	list, more, err := b.Changes(after, limit, all)
	if err != nil {
		return err
	}
	page := api.Page[api.RejudgeChange]{Items: list}
	if more {
		page.Next = nextAfter(after + limit)
	}
	bs.Reply(w, r, http.StatusOK, page)
	return nil
}

func (bs *Batches) applyRejudge(w http.ResponseWriter, r *http.Request) error {
	b, err := bs.rejudgeOf(r)
	if err != nil {
		return err
	}

	// What has begun is ended although the client leaves: the history changes as a whole or not at all.
	ctx := context.WithoutCancel(r.Context())
	if err := b.Apply(func(pairs []history.Replacement) error {
		return bs.Config.History.Replace(ctx, b.owner, pairs)
	}); err != nil {
		return err
	}
	return bs.replyRejudge(w, r, http.StatusOK, b)
}

func (bs *Batches) discardRejudge(w http.ResponseWriter, r *http.Request) error {
	b, err := bs.rejudgeOf(r)
	if err == nil {
		err = b.Discard()
	}
	if err != nil {
		return err
	}
	return bs.replyRejudge(w, r, http.StatusOK, b)
}
