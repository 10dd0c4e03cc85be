package remote

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"

	"github.com/brig-sandbox/brig/api"
)

const sessionsPath = "/v1/sessions"

// CreateSession makes a sandbox in which files and processes last. Of a project and task
// there is one at a time: another is the error conflict, whose Session is its id.
func (c *Client) CreateSession(ctx context.Context, ask api.SessionRequest) (s api.Session, err error) {
	return s, c.call(ctx, http.MethodPost, sessionsPath, ask, &s)
}

// Sessions lists those of the key.
func (c *Client) Sessions(ctx context.Context) ([]api.Session, error) {
	var page api.Page[api.Session]
	err := c.call(ctx, http.MethodGet, sessionsPath, nil, &page)
	return page.Items, err
}

// Session tells how one is. That it has ended is the error session-ended.
func (c *Client) Session(ctx context.Context, id string) (s api.Session, err error) {
	return s, c.call(ctx, http.MethodGet, sessionPath(id), nil, &s)
}

// EndSession ends one with all that is in it. What it has in a volume stays.
func (c *Client) EndSession(ctx context.Context, id string) error {
	return c.call(ctx, http.MethodDelete, sessionPath(id), nil, nil)
}

// Exec executes a command or source in a session and waits for its result. It is not
// retry-safe: what it did stays.
func (c *Client) Exec(ctx context.Context, id string, e api.Exec) (res api.Result, err error) {
	return res, c.call(ctx, http.MethodPost, sessionPath(id)+"/exec", e, &res)
}

// ExecEvents is Exec with the output as it comes; the result has the beginning of it. An
// error of tell hangs up, which ends the exec, and is returned.
func (c *Client) ExecEvents(ctx context.Context, id string, e api.Exec, tell func(Event) error) (res api.Result, err error) {
	answer, err := c.send(ctx, http.MethodPost, sessionPath(id)+"/exec", e, "text/event-stream")
	if err != nil {
		return res, err
	}
	defer answer.Body.Close()
	if err := refusal(answer); err != nil {
		return res, err
	}
	err = ReadEvents(answer.Body, func(e Event) error {
		switch e.Name {
		case api.EventResult:
			if err := json.Unmarshal(e.Data, &res); err != nil {
				return err
			}
			return errOver
		case api.EventError:
			p := new(api.Problem)
			if err := json.Unmarshal(e.Data, p); err != nil {
				return err
			}
			return p
		}
		return tell(e)
	})
	if errors.Is(err, errOver) {
		err = nil
	}
	return res, err
}

// errOver ends the reading of events after the last.
var errOver = errors.New("the exec is over")

// Volumes lists those of the key, each by its project. Sessions make them.
func (c *Client) Volumes(ctx context.Context) ([]api.Volume, error) {
	var page api.Page[api.Volume]
	err := c.call(ctx, http.MethodGet, "/v1/volumes", nil, &page)
	return page.Items, err
}

// DeleteVolume removes a project's volume with all that is in it. That a session has it
// is the error conflict.
func (c *Client) DeleteVolume(ctx context.Context, project string) error {
	if err := api.VolumeName(project); err != nil {
		return err
	}
	return c.call(ctx, http.MethodDelete, "/v1/volumes/"+url.PathEscape(project), nil, nil)
}

func sessionPath(id string) string { return sessionsPath + "/" + url.PathEscape(id) }
