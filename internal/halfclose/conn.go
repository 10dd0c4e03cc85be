// Package halfclose tells a client of an HTTP/1 server that has left from one that has only closed its sending side
// after its request, as nc -N does. net/http takes both for one that has left, and cancels the request.
//
// The kernel knows the end of a unix socket. On TCP the two look the same until something is sent: the kernel of a client
// that has left answers with a reset. So a client that may have left gets the first bytes of its response early, which
// are the same in each response, one at a time. See docs/adr/0054-half-closed-clients.md.
package halfclose

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// start is what every response begins with, also one to a client of HTTP/1.0.
const start = "HTTP/1."

// firstWait is the time from the first byte that is sent early to the second. Each further wait is twice as long.
const firstWait = time.Second

// A Conn is a connection of a server of net/http, below TLS if there is any. Under TLS it changes nothing: a client that
// closes its sending side has left.
type Conn struct {
	net.Conn
	unix, tcp bool // neither: as without this package

	mu         sync.Mutex
	early      int  // guarded by mu; bytes of start that were sent early
	begun      bool // guarded by mu; the response has begun, so nothing else may be sent
	writesTell bool // guarded by mu; see LetWritesTell
}

// New makes the connection of a server from one that was accepted.
func New(c net.Conn) *Conn {
	network := c.LocalAddr().Network()
	return &Conn{Conn: c, unix: network == "unix", tcp: network == "tcp"}
}

// SyscallConn is that of the accepted connection.
func (c *Conn) SyscallConn() (syscall.RawConn, error) {
	if s, ok := c.Conn.(syscall.Conn); ok {
		return s.SyscallConn()
	}
	return nil, errors.ErrUnsupported
}

// Read reads what the client sent. While a request is answered, net/http reads a single byte to notice that the client
// has left; no other read is as short. Such a read returns io.EOF when the client has left. If a version of net/http
// reads otherwise, a client that closes its sending side has left, as without this package.
func (c *Conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err != io.EOF || len(p) != 1 { //nolint:errorlint // a net.Conn returns io.EOF itself
		return n, err
	}
	raw, rawErr := c.SyscallConn()
	if rawErr != nil || !c.canTell() {
		return n, err
	}

	ended := make(chan struct{})
	var sending sync.WaitGroup
	if c.tcp {
		sending.Go(func() { c.sendEarly(ended) })
	}

	// The poller wakes this for each change, and at the deadline that net/http sets when it has answered.
	waitErr := raw.Read(hasLeft)
	close(ended)
	sending.Wait()
	if waitErr != nil {
		return n, waitErr
	}
	return n, io.EOF
}

// canTell reports whether it can be found out that the client leaves.
func (c *Conn) canTell() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.unix || c.tcp && (!c.begun || c.writesTell)
}

// sendEarly sends the start of the response, a byte at a time, until the response begins or the wait for the client has
// ended. After the last byte, the kernel's keep-alive finds out that the client has left.
func (c *Conn) sendEarly(ended <-chan struct{}) {
	for wait := firstWait; c.sendByte(); wait *= 2 {
		select {
		case <-ended:
			return
		case <-time.After(wait):
		}
	}
}

// sendByte sends the next byte of start. It returns false when there is nothing more to send.
func (c *Conn) sendByte() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.begun || c.early == len(start) {
		return false
	}
	if _, err := io.WriteString(c.Conn, start[c.early:c.early+1]); err != nil {
		return false // hasLeft finds out
	}
	c.early++
	return true
}

// hasLeft reports whether both directions of a connection are closed, or it failed: poll reports POLLHUP or POLLERR then,
// and for a closed sending side neither.
func hasLeft(fd uintptr) bool {
	p := []unix.PollFd{{Fd: int32(fd)}}
	n, err := unix.Poll(p, 0)
	return err == nil && n > 0
}

var interim = []byte("HTTP/1.1 100 ")

// Write sends a part of a response, without what was sent early.
func (c *Conn) Write(p []byte) (int, error) {
	c.mu.Lock()
	early := c.early
	if !bytes.HasPrefix(p, []byte(start[:early])) {
		c.mu.Unlock()
		return 0, fmt.Errorf("the response does not begin with %q", start)
	}
	c.early = 0
	c.begun = c.begun || !bytes.HasPrefix(p, interim)
	c.mu.Unlock()

	n, err := c.Conn.Write(p[early:])
	return early + n, err
}

// LetWritesTell says that the response to this request writes something every few seconds. Then a write finds out that
// the client has left, and a client may close its sending side also when the response has begun.
func (c *Conn) LetWritesTell() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.writesTell = true
}

// Answered says that a request was answered: the server's ConnState got http.StateIdle.
func (c *Conn) Answered() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.begun, c.writesTell = false, false
}
