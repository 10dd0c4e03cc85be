package service

import (
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
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
		Scope: owner, Project: q.Get("project"), Task: q.Get("task"), Language: q.Get("language"),
		After: q.Get("after"),
	}
	if f.Verdicts, f.Failed, err = verdicts(q["verdict"]); err != nil {
		return f, err
	}
	if f.Since, err = when(q, "since"); err != nil {
		return f, err
	}
	if f.Until, err = when(q, "until"); err != nil {
		return f, err
	}
	if v := q.Get("limit"); v != "" {
		if f.Limit, err = strconv.Atoi(v); err != nil || f.Limit < 1 {
			return f, api.Refuse(api.CodeBadRequest, "limit=%.20q: write a number from 1 to 10000", v)
		}
	}

	return f, nil
}

// failed is the value of the parameter verdict that selects every run that is no success.
const failed = "failed"

// verdicts parses a parameter that may be repeated, each time with one value or several separated
// by commas.
func verdicts(given []string) (all []api.Verdict, fails bool, err error) {
	for _, name := range strings.Split(strings.Join(given, ","), ",") {
		switch v := api.Verdict(name); {
		case name == "", slices.Contains(all, v): // ignore repetitions
		case name == failed:
			fails = true
		case slices.Contains(api.Verdicts(), v):
			all = append(all, v)
		default:
			return nil, false, api.Refuse(api.CodeBadRequest,
				"verdict=%.40q does not exist: use one of %v, or %s for all runs without success", name, api.Verdicts(), failed)
		}
	}

	return all, fails, nil
}

func when(q url.Values, name string) (time.Time, error) {
	v := q.Get(name)
	if v == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339, v)
	if err != nil {
		return t, api.Refuse(api.CodeBadRequest, "%s=%.40q: write a time as 2006-01-02T15:04:05Z", name, v)
	}
	return t, nil
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
		openapi.Query("language", "only runs in this language", nil),
		openapi.Query("verdict", fmt.Sprintf("only runs with this verdict; repeat the parameter, or separate several "+
			"with commas: %v; %s: every run without success, including wrong answers and failures of the "+
			"service", api.Verdicts(), failed), nil),
	}, within...)
)
