// Package client speaks to brig's agent over its unix socket.
//
// Every method's error is an *api.Error: the agent's own, or one with the code
// agent-unreachable or agent-gone. Canceling the context of a call hangs up,
// which ends the run; the error is then the context's.
package client

import (
	"bufio"
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"sync"
	"syscall"
	"time"

	"github.com/brig-sandbox/brig/api"
)

const runsPath = "/v1/runs"

const (
	keep     = 64              // idle connections kept
	keepTime = 2 * time.Minute // less than the agent keeps them
)

// A Client is safe for use by many goroutines, each with a connection of its own.
type Client struct {
	socket string

	mu   sync.Mutex
	idle []*conn // guarded by mu; the most recently used last
}

// New makes a client of the agent at the socket. It does not connect.
func New(socket string) *Client { return &Client{socket: socket} }

// Close closes the idle connections.
func (c *Client) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range c.idle {
		k.Close()
	}
	c.idle = nil
}

type conn struct {
	net.Conn
	in     *bufio.Reader
	reused bool
	since  time.Time // when it became idle
}

// get gives an idle connection, or a new one.
func (c *Client) get(ctx context.Context, fresh bool) (*conn, error) {
	c.mu.Lock()
	for !fresh && len(c.idle) > 0 {
		k := c.idle[len(c.idle)-1]
		c.idle = c.idle[:len(c.idle)-1]
		if time.Since(k.since) < keepTime {
			c.mu.Unlock()
			k.reused = true
			return k, nil
		}
		k.Close()
	}
	c.mu.Unlock()
	nc, err := (&net.Dialer{}).DialContext(ctx, "unix", c.socket)
	if err != nil {
		return nil, unreachable(c.socket, err)
	}
	return &conn{Conn: nc, in: bufio.NewReader(nc)}, nil
}

func (c *Client) put(k *conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.idle) >= keep || k.in.Buffered() > 0 {
		k.Close()
		return
	}
	k.since = time.Now()
	c.idle = append(c.idle, k)
}

// unreachable says why nobody answered, and the cure.
func unreachable(socket string, err error) error {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return api.Fail(api.CodeAgentUnreachable, "connect to %s: permission denied: join the group that owns the socket, or use sudo", socket)
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED):
		return api.Fail(api.CodeAgentUnreachable, "no agent answers on %s: start brigd, or name its socket with --socket", socket)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	}
	return api.Fail(api.CodeAgentUnreachable, "connect to the agent: %w", err)
}

// gone is a connection that broke before the answer was whole. The request may
// have been carried out; again says that sending it once more does no harm, as of
// a run, which has no effect outside its sandbox, or a question.
func gone(err error, again bool) error {
	e := api.Refuse(api.CodeAgentGone, "the agent went away before it answered (%w): see its log, and whether it still runs", err)
	e.RetrySafe = again && broken(err)
	return e
}

// broken reports a connection that ended, rather than one on which something else
// than an agent spoke.
func broken(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET)
}

// Run carries out one run and waits for its result.
func (c *Client) Run(ctx context.Context, r api.Run) (res api.Result, err error) {
	err = c.call(ctx, http.MethodPost, runsPath, r, &res)
	return res, err
}

// Health asks how the agent is.
func (c *Client) Health(ctx context.Context) (h api.Health, err error) {
	err = c.call(ctx, http.MethodGet, "/v1/health", nil, &h)
	return h, err
}

// Languages lists what the agent can run by source.
func (c *Client) Languages(ctx context.Context) (l []api.Language, err error) {
	err = c.call(ctx, http.MethodGet, "/v1/languages", nil, &l)
	return l, err
}

// Profiles lists the seccomp profiles the agent can load.
func (c *Client) Profiles(ctx context.Context) (p []api.Profile, err error) {
	err = c.call(ctx, http.MethodGet, "/v1/profiles", nil, &p)
	return p, err
}

// Images lists what is stored.
func (c *Client) Images(ctx context.Context) (i []api.Image, err error) {
	err = c.call(ctx, http.MethodGet, "/v1/images", nil, &i)
	return i, err
}

// Import stores the archive under name. digest, when not empty, is what the
// archive must hash to, as given and still compressed. Only root may.
func (c *Client) Import(ctx context.Context, archive io.Reader, name, digest string) (img api.Image, err error) {
	q := url.Values{"name": {name}}
	if digest != "" {
		q.Set("digest", digest)
	}
	err = c.call(ctx, http.MethodPost, "/v1/images?"+q.Encode(), archive, &img)
	return img, err
}

// RemoveImage forgets the name, and the tree when it was its last. Only root may.
func (c *Client) RemoveImage(ctx context.Context, name string) error {
	return c.call(ctx, http.MethodDelete, "/v1/images/"+url.PathEscape(name), nil, &struct{}{})
}

// Verify compares a stored tree, all of it, with what was imported. Only root may.
func (c *Client) Verify(ctx context.Context, name string) (v api.Verified, err error) {
	err = c.call(ctx, http.MethodPost, "/v1/images/"+url.PathEscape(name)+"/verify", nil, &v)
	return v, err
}

// Clean removes stored trees that have no name. Only root may.
func (c *Client) Clean(ctx context.Context) (done api.Cleaned, err error) {
	err = c.call(ctx, http.MethodPost, "/v1/clean", nil, &done)
	return done, err
}
