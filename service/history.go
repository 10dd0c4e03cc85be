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
	"github.com/brig-sandbox/brig/service/history"
)

// filter parses the query parameters of a listing.
func filter(r *http.Request) (history.Filter, error) {
	q := r.URL.Query()
	owner, err := ownerOf(r)
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
type records struct{ *core }

func (p *records) getHistory(w http.ResponseWriter, r *http.Request) error {
	f, err := filter(r)
	if err != nil {
		return err
	}
	page, next, err := p.cfg.History.List(r.Context(), f)
	if err != nil {
		return err
	}
	p.reply(w, r, http.StatusOK, api.Page[api.Record]{Items: append([]api.Record{}, page...), Next: next})
	return nil
}

func (p *records) getStats(w http.ResponseWriter, r *http.Request) error {
	f, err := filter(r)
	if err != nil {
		return err
	}
	stats, err := p.cfg.History.Stats(r.Context(), f)
	if err != nil {
		return err
	}
	p.reply(w, r, http.StatusOK, stats)
	return nil
}

func (p *records) getAlerts(w http.ResponseWriter, r *http.Request) error {
	f, err := filter(r)
	if err != nil {
		return err
	}
	page, next, err := p.cfg.History.Alerts(r.Context(), f)
	if err != nil {
		return err
	}
	p.reply(w, r, http.StatusOK, api.Page[api.Alert]{Items: append([]api.Alert{}, page...), Next: next})
	return nil
}

func (p *records) routes() []route {
	return []route{
		{method: "GET", path: "/v1/history", name: "history", reads: pastRuns, fails: []int{429}, group: "History",
			summary: "Executed runs, the newest first",
			serve:   p.getHistory, answer: reflect.TypeFor[api.Page[api.Record]](),
			params: slices.Concat(choosing, paging, []param{ofAll})},
		{method: "GET", path: "/v1/stats", name: "stats", reads: pastRuns, fails: []int{429}, group: "History",
			summary: "Statistics of runs: totals, times, by language, project and task",
			serve:   p.getStats, answer: reflect.TypeFor[api.Stats](), params: append(slices.Clone(choosing), ofAll)},
		{method: "GET", path: "/v1/alerts", name: "alerts", reads: pastRuns, fails: []int{429}, group: "History",
			summary: "What an operator should see: crashes, memory, denied calls, failure rates",
			serve:   p.getAlerts, answer: reflect.TypeFor[api.Page[api.Alert]](),
			params: slices.Concat([]param{ofProject}, within, paging, []param{ofAll})},
	}
}

var (
	ofProject = query("project", "only runs of this project", nil)
	within    = []param{query("since", "only entries of this time or later (RFC 3339)", moment),
		query("until", "only entries before this time (RFC 3339)", moment)}
	ofAll = query("all", "true: include all keys; for keys with admin", yesNo)

	choosing = append([]param{
		ofProject,
		query("task", "only runs of this task", nil),
		query("language", "only runs in this language", nil),
		query("verdict", fmt.Sprintf("only runs with this verdict; repeat the parameter, or separate several with commas: %v; %s: every run without success, including wrong answers and failures of the service", api.Verdicts(), failed), nil),
	}, within...)
)
