package testenv

import (
	"io"
	"net"
	"sync"
	"syscall"
)

// HalfClosed returns a listener that accepts what ln does, and a channel that gets a value for each connection of which
// the server has read that the client closed its sending side.
func HalfClosed(ln net.Listener) (net.Listener, <-chan struct{}) {
	read := make(chan struct{}, 1024) // more than a test has connections
	return halfClosedListener{ln, read}, read
}

type halfClosedListener struct {
	net.Listener
	read chan struct{}
}

func (l halfClosedListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return halfClosedConn{c, sync.OnceFunc(func() { l.read <- struct{}{} })}, nil
}

type halfClosedConn struct {
	net.Conn
	atEOF func()
}

func (c halfClosedConn) SyscallConn() (syscall.RawConn, error) {
	return c.Conn.(syscall.Conn).SyscallConn() //nolint:forcetypeassert // of a test's listener
}

func (c halfClosedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err == io.EOF { //nolint:errorlint // a net.Conn returns io.EOF itself
		c.atEOF()
	}
	return n, err
}
