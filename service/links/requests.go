package links

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/api/decode"
	"github.com/brig-sandbox/brig/service/core"
	"github.com/brig-sandbox/brig/service/history"
	"github.com/brig-sandbox/brig/service/queue"
)

// owned returns the caller's name if the run is the caller's own. Who reads the history of all keys still opens no run of
// another key to others (TestLinksAreOfTheOwner).
func (ls *Links) owned(r *http.Request) (owner string, err error) {
	owner = core.CallerOf(r.Context()).Name
	id := r.PathValue("id")
	if _, _, underWay := ls.runs.Progress(owner, id); underWay {
		return owner, nil
	}
	_, err = ls.history.Brief(r.Context(), history.Scope{Owner: owner}, id)
	return owner, err
}

// post makes a link.
func (ls *Links) post(w http.ResponseWriter, r *http.Request) error {
	raw, release, err := ls.ReadBody(w, r)
	if err != nil {
		return err
	}
	defer release()
	ask, err := core.ParseBody(ls.Core, r.Context(), raw,
		func(raw []byte) (api.RunLinkRequest, error) { return decode.Value[api.RunLinkRequest](raw, "request") })
	if err != nil {
		return err
	}
	if err := ask.Validate(); err != nil {
		return err
	}

	owner, err := ls.owned(r)
	if err != nil {
		return err
	}
	made, err := ls.make(r.Context(), owner, r.PathValue("id"), ask)
	if err != nil {
		return err
	}
	w.Header().Set("Cache-Control", "no-store") // it has the token
	ls.Reply(w, r, http.StatusCreated, made)
	return nil
}

// list lists the links of a run, without their tokens.
func (ls *Links) list(w http.ResponseWriter, r *http.Request) error {
	owner, err := ls.owned(r)
	if err != nil {
		return err
	}
	page := api.Page[api.RunLink]{Items: []api.RunLink{}}
	for _, l := range ls.of(owner, r.PathValue("id")) {
		page.Items = append(page.Items, l.RunLink)
	}
	ls.Reply(w, r, http.StatusOK, page)
	return nil
}

// revoke ends one link. It works for a run that the history has dropped, too.
func (ls *Links) revoke(w http.ResponseWriter, r *http.Request) error {
	ls.changing.Lock()
	defer ls.changing.Unlock()

	some := ls.of(core.CallerOf(r.Context()).Name, r.PathValue("id"))
	at := slices.IndexFunc(some, func(l *link) bool { return l.ID == r.PathValue("link") })
	if at < 0 {
		return api.Refuse(api.CodeNotFound, "run %.64s of this key has no link %.64q: it was revoked, has expired, or never was",
			r.PathValue("id"), r.PathValue("link"))
	}
	if err := ls.drop(r.Context(), some[at:at+1]); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// errNoLink is the same for each token that opens nothing: nobody learns whether it ever did (TestNoTokenIsGuessed).
func errNoLink() error {
	return api.Refuse(api.CodeNotFound,
		"this link opens nothing: it was cut, has expired, was revoked, or its run is no longer kept; ask who gave it to you")
}

// open answers those who have a token, and need no key. The answer is made of few fields that are named here: what is added
// to a record does not show by itself.
func (ls *Links) open(w http.ResponseWriter, r *http.Request) error {
	h := w.Header()
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")

	l, may := ls.find(r.PathValue("token"))
	switch {
	case !may:
		return core.Problem(http.StatusTooManyRequests, api.Fail(api.CodeBusy, "links are read too often: try again in a few seconds"))
	case l == nil:
		return errNoLink()
	}
	if _, err := ls.CallerNamed(l.Owner); err != nil { // a key that was removed shows nothing more
		return errNoLink()
	}

	slot, err := ls.reads.Take(r.Context(), queue.Owner{Key: l.Owner})
	var full *queue.Full
	if errors.As(err, &full) {
		return core.Problem(http.StatusTooManyRequests, api.Fail(api.CodeBusy, "many links are being read: try again in a few seconds"))
	}
	if err != nil {
		return err
	}
	defer slot.Release()

	seen, err := ls.linked(r.Context(), l)
	if api.HasCode(err, api.CodeNotFound) {
		return errNoLink()
	}
	if err != nil {
		return err
	}
	slot.Release() // sending the answer may take long
	ls.Reply(w, r, http.StatusOK, seen)
	return nil
}

// linked is what a link shows now.
func (ls *Links) linked(ctx context.Context, l *link) (api.LinkedRun, error) {
	underWay, ahead, active := ls.runs.Progress(l.Owner, l.Run)
	seen := api.LinkedRun{State: underWay.State, Title: l.Title, Created: underWay.Created, Expires: l.Expires, Ahead: ahead}
	if active && underWay.State != api.Done {
		return seen, nil
	}

	scope := history.Scope{Owner: l.Owner}
	rec, again, err := ls.counting(ctx, scope, l.Run)
	if api.HasCode(err, api.CodeNotFound) && active && underWay.Result != nil { // canceled before it began: the history has none
		rec, err = api.Record{Created: underWay.Created, Verdict: underWay.Result.Verdict}, nil
	}
	if err != nil {
		return seen, err
	}

	seen = shown(seen, rec, l.Show)
	seen.JudgedAgain = again
	if slices.Contains(l.Show, api.LinkShowsSource) {
		kept, err := ls.history.Request(ctx, scope, l.Run)
		if err != nil && !api.HasCode(err, api.CodeNotFound) {
			return seen, err
		}
		if kept != nil {
			seen.Language, seen.SourceName, seen.Source = kept.Language, kept.SourceName, kept.Source
		}
	}
	return seen, nil
}

// counting returns the record of the run that counts in place of a run, or its own.
func (ls *Links) counting(ctx context.Context, scope history.Scope, id string) (rec api.Record, again bool, err error) {
	rec, err = ls.history.Brief(ctx, scope, id)
	for n := 0; err == nil && rec.ReplacedBy != "" && n < 100; n++ {
		next, lost := ls.history.Brief(ctx, scope, rec.ReplacedBy)
		if lost != nil {
			return rec, again, lost
		}
		rec, again = next, true
	}
	return rec, again, err
}

// shown is what a link shows of a run that has ended.
func shown(seen api.LinkedRun, rec api.Record, show []api.LinkShow) api.LinkedRun {
	seen.State, seen.Ahead = api.Done, nil
	if seen.Created.IsZero() {
		seen.Created = rec.Created
	}
	if rec.Code != "" {
		seen.NotJudged = true
		return seen
	}

	seen.Verdict = rec.Verdict
	s := rec.Summary
	if s == nil {
		return seen
	}
	seen.Answer = s.Answer
	shows := func(what api.LinkShow) bool { return slices.Contains(show, what) }
	if shows(api.LinkShowsTests) {
		seen.Tests, seen.Accepted, seen.Outcomes = s.Tests, s.Accepted, s.Outcomes
	}
	if shows(api.LinkShowsFirstFailed) && s.FirstFailed != "" {
		seen.FirstFailed, seen.FirstFailedOutcome = s.FirstFailed, firstFailed(s.Outcomes)
	}
	if shows(api.LinkShowsScore) {
		seen.Score, seen.Points, seen.MaxPoints = s.Score, s.Points, s.MaxPoints
	}
	return seen
}

// firstFailed is the letter of the first test that was not accepted; empty: it is behind those that have a letter.
func firstFailed(outcomes string) string {
	for _, letter := range outcomes {
		if letter != 'A' {
			return string(letter)
		}
	}
	return ""
}
