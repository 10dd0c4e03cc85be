package agent

import (
	"context"
	"net"
	"sync"
	"syscall"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/halfclose"
)

// limitConns limits the number of open connections; further ones wait in the listener's backlog
// (API-02).
func limitConns(ln net.Listener, maximum int) net.Listener {
	return &listener{Listener: ln, tokens: make(chan struct{}, maximum), closed: make(chan struct{})}
}

type listener struct {
	net.Listener
	tokens chan struct{}
	once   sync.Once
	closed chan struct{}
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case l.tokens <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.tokens
		return nil, err
	}
	return &conn{Conn: halfclose.New(c), tokens: l.tokens}, nil
}

func (l *listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

type conn struct {
	*halfclose.Conn
	tokens chan struct{}
	once   sync.Once
}

func (c *conn) Close() error {
	c.once.Do(func() { <-c.tokens })
	return c.Conn.Close()
}

type callerKey struct{}

// withCaller stores the peer's credentials in the context. If they cannot be read, the connection
// belongs to nobody, the caller with the fewest rights.
func withCaller(ctx context.Context, c net.Conn) context.Context {
	caller, err := peer(c)
	if err != nil {
		caller = nobody
	}
	return context.WithValue(ctx, callerKey{}, caller)
}

var nobody = api.Caller{UID: 1<<32 - 1, GID: 1<<32 - 1}

func callerOf(ctx context.Context) api.Caller {
	if c, ok := ctx.Value(callerKey{}).(api.Caller); ok {
		return c
	}
	return nobody
}

func peer(c net.Conn) (api.Caller, error) {
	raw, err := rawConn(c)
	if err != nil {
		return api.Caller{}, err
	}

	var cred *syscall.Ucred
	var cerr error
	err = raw.Control(func(fd uintptr) {
		cred, cerr = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	})
	if err == nil {
		err = cerr
	}
	if err != nil {
		return api.Caller{}, err
	}
	return api.Caller{UID: cred.Uid, GID: cred.Gid, PID: cred.Pid}, nil
}

// rawConn returns the raw connection, also of a conn, which wraps one.
func rawConn(c net.Conn) (syscall.RawConn, error) {
	if w, ok := c.(*conn); ok {
		c = w.Conn
	}
	s, ok := c.(syscall.Conn)
	if !ok {
		return nil, net.UnknownNetworkError(c.LocalAddr().Network())
	}
	return s.SyscallConn()
}
