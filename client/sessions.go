package client

import (
	"context"
	"io"
	"net/http"
	"net/url"

	"github.com/brig-sandbox/brig/api"
)

const sessionsPath = "/v1/sessions"

// CreateSession makes a sandbox that lasts. It belongs to the user who calls: to others
// but root it does not exist.
func (c *Client) CreateSession(ctx context.Context, ask api.SessionRequest) (s api.Session, err error) {
	err = c.call(ctx, http.MethodPost, sessionsPath, ask, &s)
	return s, err
}

// Sessions lists those that live, the oldest first: the caller's own, or for root all.
func (c *Client) Sessions(ctx context.Context) (all []api.Session, err error) {
	err = c.call(ctx, http.MethodGet, sessionsPath, nil, &all)
	return all, err
}

// Session tells how one is. That it has ended is the error session-ended, which says
// why.
func (c *Client) Session(ctx context.Context, id string) (s api.Session, err error) {
	err = c.call(ctx, http.MethodGet, sessionPath(id), nil, &s)
	return s, err
}

// UseSession is Session, and its idle time begins anew.
func (c *Client) UseSession(ctx context.Context, id string) (s api.Session, err error) {
	err = c.call(ctx, http.MethodPost, sessionPath(id)+"/use", nil, &s)
	return s, err
}

// DeleteSession ends one with all that runs in it. When it returns, nothing of it is
// left.
func (c *Client) DeleteSession(ctx context.Context, id string) error {
	return c.call(ctx, http.MethodDelete, sessionPath(id), nil, &struct{}{})
}

// Exec executes one program in a session and waits for its result. An exec is not
// retry-safe: what it did stays in the session.
func (c *Client) Exec(ctx context.Context, id string, e api.Exec) (res api.Result, err error) {
	err = c.call(ctx, http.MethodPost, sessionPath(id)+"/exec", e, &res)
	return res, err
}

// ExecStream is Exec with input and output as they come, as RunStream is Run.
func (c *Client) ExecStream(ctx context.Context, id string, e api.Exec, stdin io.Reader, stdout, stderr io.Writer) (api.Result, error) {
	return c.ExecEvents(ctx, id, e, stdin, Events{Stdout: stdout, Stderr: stderr})
}

// ExecEvents is ExecStream for one who wants to know when the source is compiled.
func (c *Client) ExecEvents(ctx context.Context, id string, e api.Exec, stdin io.Reader, events Events) (api.Result, error) {
	return c.stream(ctx, sessionPath(id)+"/exec", e, nil, stdin, events)
}

// PutFile puts what content holds into /box under name, instead of what may be there:
// whole, or not at all. The directories on its way are made.
func (c *Client) PutFile(ctx context.Context, id, name string, content io.Reader, executable bool) error {
	return c.Box(id).Put(ctx, name, content, executable)
}

// GetFile writes the content of a regular file of /box to to. After an error some of
// it may have been written.
func (c *Client) GetFile(ctx context.Context, id, name string, to io.Writer) error {
	return c.Box(id).Get(ctx, name, to)
}

// DeleteFile removes a name from /box: a file, a link, or an empty directory.
func (c *Client) DeleteFile(ctx context.Context, id, name string) error {
	return c.Box(id).Delete(ctx, name)
}

// ListFiles lists what lies below a directory of /box; an empty one is /box itself.
func (c *Client) ListFiles(ctx context.Context, id, dir string) (l api.FileList, err error) {
	return c.Box(id).List(ctx, dir)
}

func sessionPath(id string) string { return sessionsPath + "/" + url.PathEscape(id) }
