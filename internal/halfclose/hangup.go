package halfclose

import (
	"crypto/tls"
	"fmt"
	"net"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A Hangup waits for the other end of a connection to close its sending side, whether or not the data that it sent
// before has been read.
type Hangup struct{ f *os.File }

// Watch watches a connection that net/http has handed over, with or without TLS. It duplicates the connection's
// descriptor, so that waiting on it does not compete with reads on the connection itself. The caller must call Wait,
// which closes it.
func Watch(c net.Conn) (*Hangup, error) {
	if t, is := c.(*tls.Conn); is {
		c = t.NetConn()
	}
	s, is := c.(syscall.Conn)
	if !is {
		return nil, fmt.Errorf("a connection of type %T has no descriptor", c)
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return nil, err
	}

	fd := -1
	cerr := raw.Control(func(p uintptr) {
		fd, err = unix.FcntlInt(p, unix.F_DUPFD_CLOEXEC, 0)
	})
	if cerr != nil {
		return nil, cerr
	}
	if err != nil {
		return nil, os.NewSyscallError("fcntl", err)
	}
	return &Hangup{os.NewFile(uintptr(fd), "connection")}, nil
}

// Wait blocks until the other end has hung up (true) or Stop was called (false).
//
// The poller is edge-triggered and reports EPOLLRDHUP as readiness to read
// (since Linux 2.6.17, epoll_ctl(2)); poll(2) then checks each edge.
func (h *Hangup) Wait() bool {
	defer h.f.Close()

	raw, err := h.f.SyscallConn()
	if err != nil {
		return false
	}

	gone := false
	err = raw.Read(func(fd uintptr) bool {
		p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}}
		_, perr := unix.Poll(p, 0)
		gone = perr == nil && p[0].Revents != 0
		return gone
	})

	return gone && err == nil
}

// Stop ends Wait.
func (h *Hangup) Stop() { _ = h.f.SetReadDeadline(time.Unix(1, 0)) }
