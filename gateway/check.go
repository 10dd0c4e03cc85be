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
	found, err := g.findings(ctx, o.run.Language, o.main, o.source)
	if err != nil || o.check == checkWarn || !check.Refuses(found) {
		return found, err
	}
	p := problem(http.StatusUnprocessableEntity, api.Refuse(api.CodeCheckRefused, "the check found what it does not let pass, and was asked to enforce that: see findings, or ask with check=warn"))
	p.Findings = found
	return nil, p
}

func (g *Gateway) findings(ctx context.Context, language, name string, source []byte) ([]api.Finding, error) {
	return check.Program(language, name, source, func(r api.Run) (api.Result, error) { return g.cfg.Agent.Run(ctx, r) })
}

// postCheck answers POST /v1/check.
func (g *Gateway) postCheck(w http.ResponseWriter, r *http.Request) error {
	raw, release, err := g.readBody(w, r)
	if err != nil {
		return err
	}
	defer release()
	ask, err := api.Parse[api.CheckRequest](raw, "check")
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
	case len(ask.Source) == 0:
		return api.Refuse(api.CodeBadRequest, "source is empty: there is nothing to check")
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
	o := &order{id: runID(), caller: callerOf(r.Context()), run: api.Run{Language: language}, created: time.Now()}
	o.do = func(ctx context.Context) (_ api.Result, err error) {
		found, err = g.findings(ctx, language, ask.SourceName, ask.Source)
		return api.Result{}, err
	}
	if _, _, err := g.inTurn(ctx, wait, o); err != nil { // no run of the caller's: the history has none
		return err
	}
	g.reply(w, r, http.StatusOK, api.Checked{Findings: append([]api.Finding{}, found...), Refused: check.Refuses(found)})
	return nil
}
