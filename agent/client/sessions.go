package client

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/brig-sandbox/brig/api"
)

const sessionsPath = "/v1/sessions"

// CreateSession makes a long-lived sandbox. It belongs to the calling user: for other users, except
// root, it does not exist. It waits for room as WithWait says. If ctx ends meanwhile, it leaves no session.
func (c *Client) CreateSession(ctx context.Context, req api.SessionRequest) (s api.Session, err error) {
	// The agent ends the session if it cannot send the answer. One that came before the connection was shut can
	// still be read from it.
	made := ""
	hang := hangingUp{
		do: (*conn).shut,
		answered: func(answer []byte) {
			var s api.Session
			if decode(answer, &s) == nil {
				made = s.ID
			}
		},
	}
	err = c.callUntil(ctx, hang, http.MethodPost, sessionsPath, req, &s)
	if made == "" {
		return s, err
	}

	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	if eerr := c.DeleteSession(within, made); eerr != nil {
		err = fmt.Errorf("%w, and session %s, which was made meanwhile, was not ended: %w", err, made, eerr)
	}
	return api.Session{}, err
}

// endTimeout is the longest time that CreateSession takes to end a session whose caller has left.
const endTimeout = 30 * time.Second

// Sessions lists the living sessions, the oldest first: the caller's own, or for root all of them.
func (c *Client) Sessions(ctx context.Context) (all []api.Session, err error) {
	err = c.call(ctx, http.MethodGet, sessionsPath, nil, &all)
	return all, err
}

// Session returns the state of a session. If it has ended, the error is session-ended, which says
// why.
func (c *Client) Session(ctx context.Context, id string) (s api.Session, err error) {
	err = c.call(ctx, http.MethodGet, sessionPath(id), nil, &s)
	return s, err
}

// UseSession is Session that also restarts the idle time.
func (c *Client) UseSession(ctx context.Context, id string) (s api.Session, err error) {
	err = c.call(ctx, http.MethodPost, sessionPath(id)+"/use", nil, &s)
	return s, err
}

// SetLife changes when a session ends.
func (c *Client) SetLife(ctx context.Context, id string, l api.LifeRequest) (s api.Session, err error) {
	err = c.call(ctx, http.MethodPost, sessionPath(id)+"/life", l, &s)
	return s, err
}

// DeleteSession ends a session and everything that runs in it. When it returns, nothing of the
// session is left.
func (c *Client) DeleteSession(ctx context.Context, id string) error {
	return c.call(ctx, http.MethodDelete, sessionPath(id), nil, &struct{}{})
}

// Exec executes one program in a session and waits for its result. An exec is not retry-safe: its
// effects stay in the session.
func (c *Client) Exec(ctx context.Context, id string, e api.Exec) (res api.Result, err error) {
	err = c.call(ctx, http.MethodPost, sessionPath(id)+"/exec", e, &res)
	return res, err
}

// ExecStream is Exec with streamed input and output, like RunStream for Run.
func (c *Client) ExecStream(ctx context.Context, id string, e api.Exec, stdin io.Reader, stdout,
	stderr io.Writer) (api.Result, error) {
	return c.ExecEvents(ctx, id, e, stdin, Events{Stdout: stdout, Stderr: stderr})
}

// ExecEvents is ExecStream with more events, such as the end of the compile stage.
func (c *Client) ExecEvents(ctx context.Context, id string, e api.Exec, stdin io.Reader,
	events Events) (api.Result, error) {
	return c.stream(ctx, sessionPath(id)+"/exec", e, nil, stdin, windowsOf(e.StaysWithoutSlot()), events)
}

// PutFile stores content in /box under name and replaces an existing file, completely or not at
// all. It makes missing directories.
func (c *Client) PutFile(ctx context.Context, id, name string, content io.Reader, executable bool) error {
	return c.Box(id).Put(ctx, name, content, executable)
}

// GetFile writes the content of a regular file of /box to to. If it fails, a part may have been
// written.
func (c *Client) GetFile(ctx context.Context, id, name string, to io.Writer) error {
	return c.Box(id).Get(ctx, name, to)
}

// DeleteFile removes a name from /box: a file, a link, or an empty directory.
func (c *Client) DeleteFile(ctx context.Context, id, name string) error {
	return c.Box(id).Delete(ctx, name)
}

// ListFiles lists the contents of a directory of /box; an empty dir is /box itself.
func (c *Client) ListFiles(ctx context.Context, id, dir string) (l api.FileList, err error) {
	return c.Box(id).List(ctx, dir)
}

func sessionPath(id string) string { return sessionsPath + "/" + url.PathEscape(id) }
