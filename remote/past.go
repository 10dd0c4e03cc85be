package remote

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// A Filter chooses runs that were carried out, or alerts. The zero value chooses all of
// the key.
type Filter struct {
	Project, Task, Language string // alerts have a project only

	// Verdicts are those of the runs. Failed chooses every run that is no success, wrong
	// answers and failures of the service too. Alerts have neither.
	Verdicts []api.Verdict
	Failed   bool

	Since, Until time.Time // of then or later, and of before; zero: whenever

	Limit int    // most entries of a page, up to 10,000; zero: 1,000. Figures have no pages
	After string // Next of the page before

	All bool // of every key; for keys with admin, and where there are none
}

// query is f as the service reads it.
func (f Filter) query() string {
	q := url.Values{}
	set := func(name, value string) {
		if value != "" {
			q.Set(name, value)
		}
	}
	set("project", f.Project)
	set("task", f.Task)
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

// History gives a page of runs that were carried out, the newest first, without what
// they printed: Status of a run has that. The page's Next is After of the page that
// follows, and empty in the last.
func (c *Client) History(ctx context.Context, f Filter) (page api.Page[api.Record], err error) {
	return page, c.call(ctx, http.MethodGet, "/v1/history"+f.query(), nil, &page)
}

// Stats sums up the runs that f chooses.
func (c *Client) Stats(ctx context.Context, f Filter) (s api.Stats, err error) {
	return s, c.call(ctx, http.MethodGet, "/v1/stats"+f.query(), nil, &s)
}

// Alerts gives a page of what an operator should see, as History does of runs.
func (c *Client) Alerts(ctx context.Context, f Filter) (page api.Page[api.Alert], err error) {
	return page, c.call(ctx, http.MethodGet, "/v1/alerts"+f.query(), nil, &page)
}
