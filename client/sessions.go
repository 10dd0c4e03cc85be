package client

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"

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
	path, err := filePath(id, name)
	if err != nil {
		return err
	}
	if executable {
		path += "?executable=true"
	}
	return c.call(ctx, http.MethodPut, path, content, &struct{}{})
}

// GetFile writes the content of a regular file of /box to to. After an error some of
// it may have been written.
func (c *Client) GetFile(ctx context.Context, id, name string, to io.Writer) error {
	path, err := filePath(id, name)
	if err != nil {
		return err
	}
	k, err := c.get(ctx, true)
	if err != nil {
		return err
	}
	defer k.Close()
	stop := context.AfterFunc(ctx, func() { k.Close() })
	defer stop()
	res, _, err := k.request(http.MethodGet, path, nil, nil)
	if err == nil && res.StatusCode != http.StatusOK {
		answer, err := readAnswer(res)
		if err != nil {
			return gone(err, true)
		}
		return refusal(http.MethodGet, res.StatusCode, answer)
	}
	if err == nil {
		w := &writer{to: to}
		if _, err = io.CopyBuffer(w, res.Body, make([]byte, 128<<10)); w.err != nil {
			return w.err
		}
	}
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return gone(err, true)
	}
	return nil
}

// A writer tells its own errors from those of what is read.
type writer struct {
	to  io.Writer
	err error
}

func (w *writer) Write(b []byte) (int, error) {
	n, err := w.to.Write(b)
	if err == nil && n < len(b) {
		err = io.ErrShortWrite
	}
	w.err = errors.Join(w.err, err)
	return n, err
}

// DeleteFile removes a name from /box: a file, a link, or an empty directory.
func (c *Client) DeleteFile(ctx context.Context, id, name string) error {
	path, err := filePath(id, name)
	if err != nil {
		return err
	}
	return c.call(ctx, http.MethodDelete, path, nil, &struct{}{})
}

// ListFiles lists what lies below a directory of /box; an empty one is /box itself.
func (c *Client) ListFiles(ctx context.Context, id, dir string) (l api.FileList, err error) {
	path := sessionPath(id) + "/files"
	if dir != "" {
		path += "?" + url.Values{"dir": {dir}}.Encode()
	}
	err = c.call(ctx, http.MethodGet, path, nil, &l)
	return l, err
}

func sessionPath(id string) string { return sessionsPath + "/" + url.PathEscape(id) }

// filePath refuses what is no file's name, which could be the path of something else.
func filePath(id, name string) (string, error) {
	if err := api.FileName(name); err != nil {
		return "", err
	}
	parts := strings.Split(name, "/")
	for i, p := range parts {
		parts[i] = url.PathEscape(p)
	}
	return sessionPath(id) + "/files/" + strings.Join(parts, "/"), nil
}
