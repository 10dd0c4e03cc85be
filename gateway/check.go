package gateway

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/check"
)

// A checkMode says what is done with what a check finds.
type checkMode string

const (
	checkOff     checkMode = "off" // as the zero value
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

// checked looks through the source of an order that wants it, in the order's own
// turn: a check is a run.
func (g *Gateway) checked(ctx context.Context, o *order) ([]api.Finding, error) {
	if o.check == "" || o.check == checkOff || len(o.source) == 0 {
		return nil, nil
	}
	found, err := g.findings(ctx, o, o.main, o.source)
	if err != nil || o.check == checkWarn || !check.Refuses(found) {
		return found, err
	}
	p := problem(http.StatusUnprocessableEntity, api.Refuse(api.CodeCheckRefused, "the check found what it does not let pass, and was asked to enforce that: see findings, or ask with check=warn"))
	p.Findings = found
	return nil, p
}

// findings checks a source in a run of the caller's, with the bounds of its key and in the mode
// of the order: a check keeps a processor as busy as the source makes it, and Perl's BEGIN
// blocks are carried out (TestAChecksRunHasTheKeysBounds). The profile is the language's
// parser's, whatever the key may name.
func (g *Gateway) findings(ctx context.Context, o *order, name string, source []byte) ([]api.Finding, error) {
	return check.Program(o.run.Language, name, source, func(r api.Run) (_ api.Result, err error) {
		r.Mode = o.run.Mode
		if r.Limits, err = o.caller.bound(r.Limits, r.Preset, o.caller.mayAll()); err != nil {
			return api.Result{}, err
		}
		return g.cfg.Agent.Run(ctx, r)
	})
}

// postCheck answers POST /v1/check.
func (g *Gateway) postCheck(w http.ResponseWriter, r *http.Request) error {
	raw, release, err := g.readBody(w, r)
	if err != nil {
		return err
	}
	defer release()
	ask, err := parsedAs[api.CheckRequest](g, r.Context(), raw, "check")
	if err != nil {
		return err
	}
	language := g.agent.language(ask.Language)
	if ask.SourceName != "" {
		if err := api.FileName(ask.SourceName); err != nil {
			return err
		}
	}
	switch {
	case ask.Source == nil:
		return api.Refuse(api.CodeBadRequest, "there is nothing to check: set source")
	case !g.agent.knows(language):
		return api.Refuse(api.CodeNoLanguage, "there is no language %.80q: GET /v1/languages lists them", ask.Language)
	}
	ctx, done, err := g.wanted(r)
	if err != nil {
		return err
	}
	defer done()
	wait, enough := context.WithTimeoutCause(ctx, g.cfg.Wait, errWaited)
	defer enough()
	var found []api.Finding
	c := callerOf(r.Context())
	o := &order{id: runID(), caller: c, run: api.Run{Language: language, Mode: c.Mode}, created: time.Now()}
	o.do = func(ctx context.Context) (_ api.Result, err error) {
		found, err = g.findings(ctx, o, ask.SourceName, ask.Source)
		return api.Result{}, err
	}
	if _, _, err := g.inTurn(ctx, wait, o); err != nil { // no run of the caller's: the history has none
		return err
	}
	g.reply(w, r, http.StatusOK, api.Checked{Findings: append([]api.Finding{}, found...), Refused: check.Refuses(found)})
	return nil
}
