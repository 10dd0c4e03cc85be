// Package client calls brig's agent over its unix socket.
//
// Every method's error is an *api.Error: the agent's own, or one with the code agent-unreachable or
// agent-gone. Canceling the context of a call closes the connection, which ends the run; the error
// is then the context's.
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
	maxIdle     = 64              // idle connections kept
	idleTimeout = 2 * time.Minute // less than the agent keeps them
)

// A Client is safe for use by many goroutines; each call has its own connection.
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
	files  *fileReader // below in; nil: descriptors that arrive are closed by the kernel
	reused bool
	since  time.Time // when it became idle
}

// get returns an idle connection, or a new one. fresh asks for a new one.
func (c *Client) get(ctx context.Context, fresh bool) (*conn, error) {
	c.mu.Lock()
	for !fresh && len(c.idle) > 0 {
		k := c.idle[len(c.idle)-1]
		c.idle = c.idle[:len(c.idle)-1]
		if time.Since(k.since) < idleTimeout {
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
	if len(c.idle) >= maxIdle || k.in.Buffered() > 0 {
		k.Close()
		return
	}
	k.since = time.Now()
	c.idle = append(c.idle, k)
}

// unreachable makes the error for a failed connection, with its cause and what to do about it.
func unreachable(socket string, err error) error {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return api.Fail(api.CodeAgentUnreachable,
			"connect to %s: permission denied: join the group that owns the socket, or use sudo", socket)
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED):
		return api.Fail(api.CodeAgentUnreachable,
			"no agent answers on %s: start brigd, or name its socket with --socket", socket)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	}
	return api.Fail(api.CodeAgentUnreachable, "connect to the agent: %w", err)
}

// agentGone makes the error for a connection that broke before the answer was complete. The request may
// have been executed. again says that it is safe to repeat: a read, or a run, which has no effect
// outside its sandbox.
func agentGone(err error, retrySafe bool) error {
	e := api.Refuse(api.CodeAgentGone,
		"the connection to the agent broke before it answered (%w): see its log, and check that it runs", err)
	e.RetrySafe = retrySafe && isDisconnect(err)
	return e
}

// isDisconnect reports whether err means that the connection ended, and not that the peer is something
// other than an agent.
func isDisconnect(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.EPIPE) ||
		errors.Is(err, syscall.ECONNRESET)
}

// Run executes one run and waits for its result.
func (c *Client) Run(ctx context.Context, r api.Run) (res api.Result, err error) {
	err = c.call(ctx, http.MethodPost, runsPath, r, &res)
	return res, err
}

// RunRaw is Run, without decoding the tests.
func (c *Client) RunRaw(ctx context.Context, r api.Run) (res api.RawResult, err error) {
	err = c.call(ctx, http.MethodPost, runsPath, r, &res)
	return res, err
}

// Health asks for the agent's status report.
func (c *Client) Health(ctx context.Context) (h api.Health, err error) {
	err = c.call(ctx, http.MethodGet, "/v1/health", nil, &h)
	return h, err
}

// Languages lists the languages whose sources the agent can run.
func (c *Client) Languages(ctx context.Context) (l []api.Language, err error) {
	err = c.call(ctx, http.MethodGet, "/v1/languages", nil, &l)
	return l, err
}

// Profiles lists the seccomp profiles the agent can load.
func (c *Client) Profiles(ctx context.Context) (p []api.Profile, err error) {
	err = c.call(ctx, http.MethodGet, "/v1/profiles", nil, &p)
	return p, err
}

// Images lists the stored images.
func (c *Client) Images(ctx context.Context) (i []api.Image, err error) {
	err = c.call(ctx, http.MethodGet, "/v1/images", nil, &i)
	return i, err
}

// Import stores the archive under name. digest, if not empty, is the digest that the archive must
// have in the form given, still compressed. Only root may call it.
func (c *Client) Import(ctx context.Context, archive io.Reader, name, digest string) (img api.Image, err error) {
	q := url.Values{"name": {name}}
	if digest != "" {
		q.Set("digest", digest)
	}
	err = c.call(ctx, http.MethodPost, "/v1/images?"+q.Encode(), archive, &img)
	return img, err
}

// ImportLayer stores the layer in an uncompressed tar whose digest must be digest. Only root may call
// it.
func (c *Client) ImportLayer(ctx context.Context, layer io.Reader, digest string) (l api.Layer, err error) {
	err = c.call(ctx, http.MethodPost, "/v1/images/layers?"+url.Values{"diff_id": {digest}}.Encode(), layer, &l)
	return l, err
}

// AbandonLayer removes a layer that was imported for an image that will not be added, unless another
// image has it. Only root may call it.
func (c *Client) AbandonLayer(ctx context.Context, digest string) error {
	return c.call(ctx, http.MethodDelete, "/v1/images/layers/"+url.PathEscape(digest), nil, &struct{}{})
}

// Layers lists the stored layers.
func (c *Client) Layers(ctx context.Context) (l []api.Layer, err error) {
	err = c.call(ctx, http.MethodGet, "/v1/images/layers", nil, &l)
	return l, err
}

// AddImage stores an image of layers that are stored, under name. Only root may call it.
func (c *Client) AddImage(ctx context.Context, spec api.ImageSpec, name string) (img api.Image, err error) {
	err = c.call(ctx, http.MethodPost, "/v1/images?"+url.Values{"name": {name}}.Encode(), spec, &img)
	return img, err
}

// RemoveImage removes the name, and the tree too if it has no other name. Only root may call it.
func (c *Client) RemoveImage(ctx context.Context, name string) error {
	return c.call(ctx, http.MethodDelete, "/v1/images/"+url.PathEscape(name), nil, &struct{}{})
}

// Verify compares a complete stored tree with the imported one. Only root may call it.
func (c *Client) Verify(ctx context.Context, name string) (v api.Verified, err error) {
	err = c.call(ctx, http.MethodPost, "/v1/images/"+url.PathEscape(name)+"/verify", nil, &v)
	return v, err
}

// Clean removes stored trees that have no name. Only root may call it.
func (c *Client) Clean(ctx context.Context) (done api.Cleaned, err error) {
	err = c.call(ctx, http.MethodPost, "/v1/clean", nil, &done)
	return done, err
}
