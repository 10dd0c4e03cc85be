package client

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"

	"github.com/brig-sandbox/brig/api"
)

const sessionsPath = "/v1/sessions"

// CreateSession makes a sandbox whose files and processes last. A project and task can have one
// session at a time: for another the error is conflict, whose Session is the id of the existing
// session.
func (c *Client) CreateSession(ctx context.Context, request api.SessionRequest) (s api.Session, err error) {
	return s, c.call(ctx, http.MethodPost, sessionsPath, request, &s)
}

// Sessions lists the sessions of the key.
func (c *Client) Sessions(ctx context.Context) ([]api.Session, error) {
	var page api.Page[api.Session]
	err := c.call(ctx, http.MethodGet, sessionsPath, nil, &page)
	return page.Items, err
}

// Session returns the state of a session. If it has ended, the error is session-ended.
func (c *Client) Session(ctx context.Context, id string) (s api.Session, err error) {
	return s, c.call(ctx, http.MethodGet, sessionPath(id), nil, &s)
}

// EndSession ends a session and removes everything in it except its volume.
func (c *Client) EndSession(ctx context.Context, id string) error {
	return c.call(ctx, http.MethodDelete, sessionPath(id), nil, nil)
}

// Exec executes a command or source in a session and waits for its result. It is not retry-safe:
// its effects stay in the session.
func (c *Client) Exec(ctx context.Context, id string, e api.Exec) (res api.Result, err error) {
	return res, c.call(ctx, http.MethodPost, sessionPath(id)+"/exec", e, &res)
}

// ExecEvents is Exec with streamed output; the result has the beginning of it. An error of tell
// closes the connection, which ends the exec, and is returned.
func (c *Client) ExecEvents(ctx context.Context, id string, e api.Exec,
	handle func(Event) error) (res api.Result, err error) {
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
			return errDone
		case api.EventError:
			p := new(api.Problem)
			if err := json.Unmarshal(e.Data, p); err != nil {
				return err
			}
			return p
		}

		return handle(e)
	})
	if errors.Is(err, errDone) {
		err = nil
	}
	return res, err
}

// errDone stops the reading of events after the last one.
var errDone = errors.New("the exec has ended")

// Volumes lists the volumes of the key, each under the name of its project. CreateSession makes
// them.
func (c *Client) Volumes(ctx context.Context) ([]api.Volume, error) {
	var page api.Page[api.Volume]
	err := c.call(ctx, http.MethodGet, "/v1/volumes", nil, &page)
	return page.Items, err
}

// DeleteVolume removes a project's volume with its content. If a session has it, the error is
// conflict.
func (c *Client) DeleteVolume(ctx context.Context, project string) error {
	if err := api.VolumeName(project); err != nil {
		return err
	}
	return c.call(ctx, http.MethodDelete, "/v1/volumes/"+url.PathEscape(project), nil, nil)
}

func sessionPath(id string) string { return sessionsPath + "/" + url.PathEscape(id) }
