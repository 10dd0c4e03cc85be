package client

import (
	"bufio"
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"syscall"
	"time"

	"github.com/brig-sandbox/brig/api"
)

const (
	maxIdle     = 64              // idle connections kept
	idleTimeout = 2 * time.Minute // less than the agent keeps them
)

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

// shut tells the agent that the caller has left, and closes both directions. What the agent has sent before can still
// be read; what it sends later fails.
func (k *conn) shut() {
	u, ok := k.Conn.(*net.UnixConn)
	if !ok {
		_ = k.Close()
		return
	}
	_ = u.CloseRead() // first: the agent may be answering
	_ = u.CloseWrite()
}

// unreachable makes the error for a failed connection, with its cause and what to do about it.
func unreachable(socket string, err error) error {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return api.Fail(api.CodeAgentUnreachable,
			"connect to %s: permission denied: join the group that owns the socket, or use sudo", socket)
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED):
		return api.Fail(api.CodeAgentUnreachable,
			"no agent answers on %s: start brigd, or name the socket of a running one with --socket", socket)
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
