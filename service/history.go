package service

import (
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/core"
	"github.com/brig-sandbox/brig/service/history"
	"github.com/brig-sandbox/brig/service/openapi"
)

// filter parses the query parameters of a listing.
func filter(r *http.Request) (history.Filter, error) {
	q := r.URL.Query()
	owner, err := core.OwnerOf(r)
	if err != nil {
		return history.Filter{}, err
	}

	f := history.Filter{
		Scope: owner, Project: q.Get("project"), Task: q.Get("task"), Run: q.Get("run"), Language: q.Get("language"),
		Problem: q.Get("problem"), Batch: q.Get("batch"),
		After: q.Get("after"),
	}
	if f.Verdicts, f.Failed, err = history.ParseVerdicts(q["verdict"]); err != nil {
		return f, err
	}
	if f.Replaced, err = core.Flag(q, "replaced"); err != nil {
		return f, err
	}
	if f.Since, err = core.Moment(q, "since"); err != nil {
		return f, err
	}
	if f.Until, err = core.Moment(q, "until"); err != nil {
		return f, err
	}
	f.Limit, err = core.PageLimit(q)
	return f, err
}

// records are the runs that have ended, as the history has them.
type records struct{ *core.Core }

func (p *records) getHistory(w http.ResponseWriter, r *http.Request) error {
	f, err := filter(r)
	if err != nil {
		return err
	}
	page, next, err := p.Config.History.List(r.Context(), f)
	if err != nil {
		return err
	}
	p.Reply(w, r, http.StatusOK, api.Page[api.Record]{Items: append([]api.Record{}, page...), Next: next})
	return nil
}

func (p *records) getStats(w http.ResponseWriter, r *http.Request) error {
	f, err := filter(r)
	if err != nil {
		return err
	}
	stats, err := p.Config.History.Stats(r.Context(), f)
	if err != nil {
		return err
	}
	p.Reply(w, r, http.StatusOK, stats)
	return nil
}

// defaultSteps is how many steps a series has that names none.
const defaultSteps = 120

// getSeries answers the statistics over time: of the last hour, unless the request says another time.
func (p *records) getSeries(w http.ResponseWriter, r *http.Request) error {
	f, err := filter(r)
	if err != nil {
		return err
	}
	if f.Until.IsZero() {
		f.Until = time.Now()
	}
	if f.Since.IsZero() {
		f.Since = f.Until.Add(-time.Hour)
	}

	step := max((f.Until.Sub(f.Since) / defaultSteps).Round(time.Second), time.Second)
	if text := r.URL.Query().Get("step"); text != "" {
		if step, err = time.ParseDuration(text); err != nil {
			return api.Refuse(api.CodeBadRequest, "step=%.20q: write a time with a unit, such as 1m", text)
		}
	}

	series, err := p.Config.History.Series(r.Context(), f, step)
	if err != nil {
		return err
	}
	p.Reply(w, r, http.StatusOK, series)
	return nil
}

func (p *records) getAlerts(w http.ResponseWriter, r *http.Request) error {
	f, err := filter(r)
	if err != nil {
		return err
	}
	page, next, err := p.Config.History.Alerts(r.Context(), f)
	if err != nil {
		return err
	}
	p.Reply(w, r, http.StatusOK, api.Page[api.Alert]{Items: append([]api.Alert{}, page...), Next: next})
	return nil
}

func (p *records) routes() []openapi.Route {
	return []openapi.Route{
		{Method: "GET", Path: "/v1/history", Name: "history", ReadsMuch: true, Fails: []int{429}, Group: "History",
			Summary: "Executed runs, the newest first",
			Serve:   p.getHistory, Answer: reflect.TypeFor[api.Page[api.Record]](),
			Params: slices.Concat(choosing, openapi.Paging, []openapi.Param{ofAll})},
		{Method: "GET", Path: "/v1/stats", Name: "stats", ReadsMuch: true, Fails: []int{429}, Group: "History",
			Summary: "Statistics of runs: totals, times, by language, project and task",
			Serve:   p.getStats, Answer: reflect.TypeFor[api.Stats](), Params: append(slices.Clone(choosing), ofAll)},
		{Method: "GET", Path: "/v1/stats/series", Name: "statsSeries", ReadsMuch: true, Fails: []int{429}, Group: "History",
			Summary: "Statistics of runs over time: rates, verdicts, times, waiting",
			About: "Of the last hour, unless since says another time; in 120 steps, unless step says another one. A series " +
				"has at most 1000 steps; steps without a run are left out.",
			Serve: p.getSeries, Answer: reflect.TypeFor[api.Series](),
			Params: slices.Concat([]openapi.Param{openapi.Query("step", "time of a step, such as 1m; at least 1s", nil)}, choosing,
				[]openapi.Param{ofAll})},
		{Method: "GET", Path: "/v1/alerts", Name: "alerts", ReadsMuch: true, Fails: []int{429}, Group: "History",
			Summary: "What an operator should see: crashes, memory, denied calls, failure rates",
			Serve:   p.getAlerts, Answer: reflect.TypeFor[api.Page[api.Alert]](),
			Params: slices.Concat([]openapi.Param{ofProject}, within, openapi.Paging, []openapi.Param{ofAll})},
	}
}

var (
	ofProject = openapi.Query("project", "only runs of this project", nil)
	within    = []openapi.Param{openapi.Query("since", "only entries of this time or later (RFC 3339)", openapi.Moment),
		openapi.Query("until", "only entries before this time (RFC 3339)", openapi.Moment)}
	ofAll = openapi.Query("all", "true: include all keys; for keys with admin", openapi.YesNo)

	choosing = append([]openapi.Param{
		ofProject,
		openapi.Query("task", "only runs of this task", nil),
		openapi.Query("run", "only runs with this label run, which is not the run_id", nil),
		openapi.Query("language", "only runs in this language", nil),
		openapi.Query("problem", "only runs that this stored problem judged", nil),
		openapi.Query("batch", "only runs of jobs of the batch with this id", nil),
		openapi.Query("replaced", "true: also runs that count no more because a rejudge replaced them, and those of a rejudge "+
			"that is not applied", openapi.YesNo),
		openapi.Query("verdict", fmt.Sprintf("only runs with this verdict; repeat the parameter, or separate several "+
			"with commas: %v; %s: every run without success, including wrong answers and failures of the "+
			"service", api.Verdicts(), history.Failed), nil),
	}, within...)
)
