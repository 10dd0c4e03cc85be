package client

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/brig-sandbox/brig/api"
)

// StartProcess starts a program that stays in a session, and returns when it has started.
func (c *Client) StartProcess(ctx context.Context, session string, p api.ProcessRequest) (made api.Process, err error) {
	return made, c.call(ctx, http.MethodPost, processesPath(session), p, &made)
}

// Processes lists the processes of a session, with those that have ended within an hour.
func (c *Client) Processes(ctx context.Context, session string) ([]api.Process, error) {
	var page api.Page[api.Process]
	err := c.call(ctx, http.MethodGet, processesPath(session), nil, &page)
	return page.Items, err
}

// Process describes one process.
func (c *Client) Process(ctx context.Context, session string, pid int) (p api.Process, err error) {
	return p, c.call(ctx, http.MethodGet, processPath(session, pid), nil, &p)
}

// Output returns what a process wrote from an offset on. It waits for some, or for the end, as long as wait says: a time
// such as 10s, at most a minute; empty: not at all.
func (c *Client) Output(ctx context.Context, session string, pid int, since int64, wait string) (out api.ProcessOutput, err error) {
	q := url.Values{"since": {strconv.FormatInt(since, 10)}}
	if wait != "" {
		q.Set("wait", wait)
	}
	return out, c.call(ctx, http.MethodGet, processPath(session, pid)+"/output?"+q.Encode(), nil, &out)
}

// SendStdin sends bytes to a process, and with eof the end of its stdin. It returns when they are taken.
func (c *Client) SendStdin(ctx context.Context, session string, pid int, b []byte, eof bool) error {
	path := processPath(session, pid) + "/stdin"
	if eof {
		path += "?eof=true"
	}
	res, err := c.do(ctx, http.MethodPost, path, "application/octet-stream", bytes.NewReader(b))
	if err != nil {
		return err
	}
	defer res.Body.Close()
	return refusal(res)
}

// SendSignal sends a signal to a process.
func (c *Client) SendSignal(ctx context.Context, session string, pid int, s api.Signal) error {
	return c.call(ctx, http.MethodPost, processPath(session, pid)+"/signal", api.SignalRequest{Signal: s}, nil)
}

// Resize gives the terminal of a process a size.
func (c *Client) Resize(ctx context.Context, session string, pid int, size api.TTY) error {
	return c.call(ctx, http.MethodPost, processPath(session, pid)+"/resize", size, nil)
}

func processesPath(session string) string {
	return "/v1/sessions/" + url.PathEscape(session) + "/processes"
}

func processPath(session string, pid int) string {
	return processesPath(session) + "/" + strconv.Itoa(pid)
}
