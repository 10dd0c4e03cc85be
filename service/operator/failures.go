package operator

import (
	"net/http"
	"slices"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/core"
	"github.com/brig-sandbox/brig/service/history"
)

// The subjects of acknowledgements in the audit log: the paths of their requests.
const (
	ackedBefore = "/v1/failures/"
	ackedAfter  = "/acknowledge"
	ackedForAll = "?all=true"
)

// ackSubject is the subject of the acknowledgement of a code: of the caller's runs, or of the runs of all keys.
func ackSubject(code api.Code, all bool) string {
	subject := ackedBefore + string(code) + ackedAfter
	if all {
		subject += ackedForAll
	}
	return subject
}

func (o *Operator) getFailures(w http.ResponseWriter, r *http.Request) error {
	f, err := filterOf(r)
	if err != nil {
		return err
	}
	if f.Scope, err = core.OwnerOf(r); err != nil {
		return err
	}

	acks, err := o.Config.History.LastAudits(r.Context(), f.Scope, api.AuditFailuresAcked, ackedBefore)
	if err != nil {
		return err
	}
	acked := map[api.Code]time.Time{}
	for code := range meanings {
		acked[code] = acks[ackSubject(code, f.Everyone)].Time
	}

	all, err := o.Config.History.Failures(r.Context(), f, acked)
	if err != nil {
		return err
	}
	for i := range all.Failures {
		g := &all.Failures[i]
		m := meanings[g.Code]
		g.Cause, g.Cure, g.RetrySafe = m.cause, m.cure, m.retry
		if e, was := acks[ackSubject(g.Code, f.Everyone)]; was {
			g.Acked, g.AckedBy = &e.Time, e.By
		}
	}
	o.Reply(w, r, http.StatusOK, all)
	return nil
}

// acknowledge says that somebody has looked at the failures of a code. It is an entry of the audit log, and nothing else.
func (o *Operator) acknowledge(w http.ResponseWriter, r *http.Request) error {
	code := api.Code(r.PathValue("code"))
	if !slices.Contains(code.Values(), code) {
		return api.Refuse(api.CodeNotFound, "there is no code %.80q: GET /v1/failures lists those of your runs", code)
	}
	scope, err := core.OwnerOf(r)
	if err != nil {
		return err
	}

	e := api.AuditEntry{Time: time.Now().UTC(), By: core.CallerOf(r.Context()).Name, Action: api.AuditFailuresAcked,
		Subject: ackSubject(code, scope.Everyone)}
	if err := o.Config.History.AddAudit(r.Context(), e); err != nil {
		return err
	}
	o.Reply(w, r, http.StatusOK, e)
	return nil
}

// filterOf parses the parameters of a list by time.
func filterOf(r *http.Request) (f history.Filter, err error) {
	q := r.URL.Query()
	f = history.Filter{Project: q.Get("project"), After: q.Get("after")}
	if f.Limit, err = core.PageLimit(q); err != nil {
		return f, err
	}
	if f.Since, err = core.Moment(q, "since"); err != nil {
		return f, err
	}
	f.Until, err = core.Moment(q, "until")
	return f, err
}
