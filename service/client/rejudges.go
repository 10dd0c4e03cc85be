package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/brig-sandbox/brig/api"
)

// RunAgain runs what the service has kept of the request of a run again, and waits for its result. Fields of changes
// that are set replace those of the request; what is not kept must be in them.
func (c *Client) RunAgain(ctx context.Context, id string, changes api.RunRequest) (res api.Result, err error) {
	return res, c.call(ctx, http.MethodPost, "/v1/runs/"+url.PathEscape(id)+"/again", changes, &res)
}

// OpenRejudge has past runs judged again. Their old outcomes count until ApplyRejudge.
func (c *Client) OpenRejudge(ctx context.Context, r api.RejudgeRequest) (j api.Rejudge, err error) {
	return j, c.call(ctx, http.MethodPost, "/v1/rejudges", r, &j)
}

// Rejudges lists the rejudges of the key, the newest first, without the runs that were left out.
func (c *Client) Rejudges(ctx context.Context) (p api.Page[api.Rejudge], err error) {
	return p, c.call(ctx, http.MethodGet, "/v1/rejudges", nil, &p)
}

// Rejudge returns the state of a rejudge.
func (c *Client) Rejudge(ctx context.Context, id string) (j api.Rejudge, err error) {
	return j, c.call(ctx, http.MethodGet, rejudgePath(id), nil, &j)
}

// RejudgeChanges lists up to limit runs whose outcome changed, after so many; limit 0: 1,000. unchanged adds the others.
func (c *Client) RejudgeChanges(ctx context.Context, id string, after, limit int,
	unchanged bool) (p api.Page[api.RejudgeChange], err error) {
	q := url.Values{"after": {strconv.Itoa(after)}, "unchanged": {strconv.FormatBool(unchanged)}}
	if limit > 0 {
		q.Set("limit", strconv.Itoa(limit))
	}
	return p, c.call(ctx, http.MethodGet, rejudgePath(id)+"/changes?"+q.Encode(), nil, &p)
}

// ApplyRejudge has the new outcomes count. All change at once, or none.
func (c *Client) ApplyRejudge(ctx context.Context, id string) (j api.Rejudge, err error) {
	return j, c.call(ctx, http.MethodPost, rejudgePath(id)+"/apply", nil, &j)
}

// DiscardRejudge keeps the old outcomes.
func (c *Client) DiscardRejudge(ctx context.Context, id string) (j api.Rejudge, err error) {
	return j, c.call(ctx, http.MethodPost, rejudgePath(id)+"/discard", nil, &j)
}

func rejudgePath(id string) string { return "/v1/rejudges/" + url.PathEscape(id) }
