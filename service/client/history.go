package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// A Filter selects runs in the history, or alerts. The zero value selects all of the key's.
type Filter struct {
	Project, Task, Run, Language string // alerts have a project only; Run is the label

	// Verdicts selects runs by verdict. Failed selects every run that is no success, including
	// wrong answers and failures of the service. Alerts have neither.
	Verdicts []api.Verdict
	Failed   bool

	Since, Until time.Time // at or after Since, and before Until; zero: no bound

	Limit int    // most entries of a page, up to 10,000; zero: 1,000. Statistics have no pages
	After string // Next of the previous page

	All bool // of every key; for keys with admin, or a service without keys
}

// query encodes f as a query string.
func (f Filter) query() string {
	q := url.Values{}
	set := func(name, value string) {
		if value != "" {
			q.Set(name, value)
		}
	}

	set("project", f.Project)
	set("task", f.Task)
	set("run", f.Run)
	set("language", f.Language)
	set("after", f.After)
	var verdicts []string
	for _, v := range f.Verdicts {
		verdicts = append(verdicts, string(v))
	}

	if f.Failed {
		verdicts = append(verdicts, "failed")
	}

	set("verdict", strings.Join(verdicts, ","))
	if !f.Since.IsZero() {
		q.Set("since", f.Since.Format(time.RFC3339Nano))
	}
	if !f.Until.IsZero() {
		q.Set("until", f.Until.Format(time.RFC3339Nano))
	}
	if f.Limit != 0 {
		q.Set("limit", strconv.Itoa(f.Limit))
	}
	if f.All {
		q.Set("all", "true")
	}
	if len(q) == 0 {
		return ""
	}
	return "?" + q.Encode()
}

// History returns a page of the runs in the history, the newest first, without their output; Status
// of a run has that. The page's Next is After for the next page, and empty in the last one.
func (c *Client) History(ctx context.Context, f Filter) (page api.Page[api.Record], err error) {
	return page, c.call(ctx, http.MethodGet, "/v1/history"+f.query(), nil, &page)
}

// Stats returns the statistics of the runs that f selects.
func (c *Client) Stats(ctx context.Context, f Filter) (s api.Stats, err error) {
	return s, c.call(ctx, http.MethodGet, "/v1/stats"+f.query(), nil, &s)
}

// Alerts returns a page of alerts for an operator, like History for runs.
func (c *Client) Alerts(ctx context.Context, f Filter) (page api.Page[api.Alert], err error) {
	return page, c.call(ctx, http.MethodGet, "/v1/alerts"+f.query(), nil, &page)
}
