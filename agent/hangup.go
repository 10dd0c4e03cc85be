package agent

import (
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// A hangup waits for the other end of a connection to close its sending side,
// whether or not the data that it sent before has been read.
type hangup struct{ f *os.File }

// watchHangup duplicates the connection's descriptor, so that waiting on it does
// not compete with reads on the connection itself.
func watchHangup(c net.Conn) (*hangup, error) {
	raw, err := rawConn(c)
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
	return &hangup{os.NewFile(uintptr(fd), "connection")}, nil
}

// wait blocks until the other end has hung up (true) or stop was called (false).
//
// The poller is edge-triggered and reports EPOLLRDHUP as readiness to read
// (since Linux 2.6.17, epoll_ctl(2)); poll(2) then checks each edge.
func (h *hangup) wait() bool {
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

// stop ends wait.
func (h *hangup) stop() { _ = h.f.SetReadDeadline(time.Unix(1, 0)) }
