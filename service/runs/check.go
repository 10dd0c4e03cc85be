package runs

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/judge/check"
	"github.com/brig-sandbox/brig/service/core"
	"github.com/brig-sandbox/brig/service/permits"
)

// A checkMode decides what happens with the findings of a check.
type checkMode string

const (
	checkOff     checkMode = "off" // the same as the zero value
	checkWarn    checkMode = "warn"
	checkEnforce checkMode = "enforce"
)

func (checkMode) Values() []checkMode { return []checkMode{checkOff, checkWarn, checkEnforce} }

func checkModeOf(r *http.Request) (checkMode, error) {
	switch v := checkMode(r.URL.Query().Get("check")); {
	case v == "", slices.Contains(v.Values(), v):
		return v, nil
	default:
		return "", api.Refuse(api.CodeBadRequest, "check=%.20q: write off, warn or enforce", v)
	}
}

// checked checks the source of a request that asks for it, in the slot of the request: a check is a
// run.
func (rs *Runs) checked(ctx context.Context, o *Request) ([]api.Finding, error) {
	if o.check == "" || o.check == checkOff || len(o.source) == 0 {
		return nil, nil
	}
	found, err := rs.findings(ctx, o, o.main, o.source)
	if err != nil || o.check == checkWarn || !check.HasErrors(found) {
		return found, err
	}
	p := core.Problem(http.StatusUnprocessableEntity,
		api.Refuse(api.CodeCheckRefused,
			"the check found a dangerous place, and check=enforce refuses such a source: see findings, or send the "+
				"request with check=warn"))
	p.Findings = found
	return nil, p
}

// findings checks a source in a run of the caller, with the limits of its key and in the mode of
// the request: a source determines how long its check uses a processor, and Perl executes BEGIN
// blocks (TestAChecksRunHasTheKeysBounds). The profile is that of the language's parser, whichever
// profiles the key may name.
func (rs *Runs) findings(ctx context.Context, o *Request, name string, source []byte) ([]api.Finding, error) {
	return check.Program(o.Run.Language, name, source, func(r api.Run) (_ api.Result, err error) {
		r.Mode = o.Run.Mode
		if r.Limits, err = permits.Limit(o.Caller, r.Limits, r.Preset, o.Caller.SeesAll()); err != nil {
			return api.Result{}, err
		}
		return rs.Config.Agent.Run(ctx, r)
	})
}

// postCheck answers POST /v1/check.
func (rs *Runs) postCheck(w http.ResponseWriter, r *http.Request) error {
	raw, release, err := rs.ReadBody(w, r)
	if err != nil {
		return err
	}
	defer release()

	ask, err := core.ParseBodyAs[api.CheckRequest](rs.Core, r.Context(), raw, "check")
	if err != nil {
		return err
	}

	language := rs.Agent.ResolveAlias(ask.Language)
	if ask.SourceName != "" {
		if err := api.FileName(ask.SourceName); err != nil {
			return err
		}
	}

	switch {
	case ask.Source == nil:
		return api.Refuse(api.CodeBadRequest, "there is nothing to check: set source")
	case !rs.Agent.HasLanguage(language):
		return api.Refuse(api.CodeNoLanguage, "there is no language %.80q: GET /v1/languages lists them", ask.Language)
	}

	// A check is a run and waits for a slot like one. What can be refused without a slot has been refused
	// above.
	ctx, done, err := rs.Track(r)
	if err != nil {
		return err
	}
	defer done()

	wait, stopWaiting := context.WithTimeoutCause(ctx, rs.Config.Wait, core.WaitTimeout(rs.Config.Wait))
	defer stopWaiting()

	var found []api.Finding
	c := core.CallerOf(r.Context())
	o := &Request{ID: core.NewID(), Caller: c, Run: api.Run{Language: language, Mode: c.Mode}, Created: time.Now()}
	o.Fn = func(ctx context.Context) (_ api.Result, err error) {
		found, err = rs.findings(ctx, o, ask.SourceName, ask.Source)
		return api.Result{}, err
	}
	if _, _, err := rs.withSlot(ctx, wait, o); err != nil { // not a run of the caller: the history does not record it
		return err
	}

	rs.Reply(w, r, http.StatusOK,
		api.Checked{Findings: append([]api.Finding{}, found...), Refused: check.HasErrors(found)})
	return nil
}
