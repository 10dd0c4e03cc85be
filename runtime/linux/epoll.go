package linux

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// A Poller waits for many descriptors in one goroutine, whose thread sleeps in the kernel
// meanwhile. If Go's network poller watched its epoll set instead, like any other descriptor, the
// kernel would take a lock of the whole host for every descriptor added (fs/eventpoll.c,
// epnested_mutex). Any program with many epoll sets can hold that lock for tenths of a second
// (CPU-40).
//
// A thread that sleeps this way keeps the right to run Go code, one of GOMAXPROCS, until the
// monitor takes it. raiseGOMAXPROCS compensates for that.
type Poller struct {
	File   *os.File
	fd     int
	events [16]unix.EpollEvent

	// If DirectFD is not 0, wait polls for events of this descriptor in addition to the set. The
	// kernel wakes a poll(2) on the intended processor (WakeOnSameCPU); an epoll set passes that on as a
	// hint only.
	DirectFD  int32
	DirectTag int32
}

// NewPoller makes a poller without descriptors.
func NewPoller() (*Poller, error) {
	n, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	return &Poller{File: os.NewFile(uintptr(n), "epoll"), fd: n}, nil
}

// Close closes the set, and none of its descriptors.
func (p *Poller) Close() error { return p.File.Close() }

// Add adds f to the set; wait returns tag with its events. Closing f removes it.
func (p *Poller) Add(f *os.File, events uint32, tag int32) error {
	ev := unix.EpollEvent{Events: events, Fd: tag}
	return os.NewSyscallError("epoll_ctl add", unix.EpollCtl(p.fd, unix.EPOLL_CTL_ADD, FD(f), &ev))
}

// Modify sets the events of f; none: f stays in the set and reports nothing.
func (p *Poller) Modify(f *os.File, events uint32, tag int32) error {
	ev := unix.EpollEvent{Events: events, Fd: tag}
	return os.NewSyscallError("epoll_ctl mod", unix.EpollCtl(p.fd, unix.EPOLL_CTL_MOD, FD(f), &ev))
}

// Remove removes f from the set. It is no error if f is not in the set.
func (p *Poller) Remove(f *os.File) error {
	err := unix.EpollCtl(p.fd, unix.EPOLL_CTL_DEL, FD(f), nil)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EBADF) {
		return nil
	}
	return os.NewSyscallError("epoll_ctl del", err)
}

// Wait returns at least one event.
func (p *Poller) Wait() ([]unix.EpollEvent, error) {
	timeout := -1
	for {
		if p.DirectFD != 0 {
			fds := [2]unix.PollFd{{Fd: p.DirectFD, Events: unix.POLLIN}, {Fd: int32(p.fd), Events: unix.POLLIN}}
			switch _, err := unix.Poll(fds[:], -1); {
			case err == unix.EINTR:
				continue
			case err != nil:
				return nil, os.NewSyscallError("poll", err)
			case fds[1].Revents == 0:
				p.events[0] = unix.EpollEvent{Events: uint32(fds[0].Revents), Fd: p.DirectTag}
				return p.events[:1], nil
			}
			timeout = 0
		}

		n, err := unix.EpollWait(p.fd, p.events[:], timeout)
		if err != unix.EINTR {
			return p.events[:max(n, 0)], os.NewSyscallError("epoll_wait", err)
		}
	}
}

// A Timer is a timerfd on the monotonic clock. Go's own timers round to a millisecond or more.
type Timer struct{ File *os.File }

// NewTimer makes a timer that is not armed.
func NewTimer() (Timer, error) {
	n, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK)
	if err != nil {
		return Timer{}, os.NewSyscallError("timerfd_create", err)
	}
	return Timer{os.NewFile(uintptr(n), "timerfd")}, nil
}

// Set arms the timer for the instant at; zero disarms it.
func (t Timer) Set(at time.Duration) error {
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(at))}
	return os.NewSyscallError("timerfd_settime", unix.TimerfdSettime(FD(t.File), unix.TFD_TIMER_ABSTIME, &spec, nil))
}

// Drain reads the expiry that made the timer readable.
func (t Timer) Drain() {
	var b [8]byte
	_, _ = unix.Read(FD(t.File), b[:])
}

// An Eventfd wakes a poller from another goroutine.
type Eventfd struct{ File *os.File }

// NewEventfd makes an eventfd with counter 0.
func NewEventfd() (Eventfd, error) {
	n, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return Eventfd{}, os.NewSyscallError("eventfd", err)
	}
	return Eventfd{os.NewFile(uintptr(n), "eventfd")}, nil
}

// Wake may be called from any goroutine. If the counter is full, the poller is woken already.
func (e Eventfd) Wake() {
	one := [8]byte{1}
	_, _ = unix.Write(FD(e.File), one[:])
}

// Clear reads the counter that wake increased.
func (e Eventfd) Clear() {
	var b [8]byte
	_, _ = unix.Read(FD(e.File), b[:])
}

// WaitReadable blocks until f is readable. A pidfd is readable when its process has ended and its
// resources are released.
func WaitReadable(f *os.File, timeout time.Duration) error {
	deadline := time.Now().Add(timeout)
	for {
		left := time.Until(deadline)
		if left <= 0 {
			return os.ErrDeadlineExceeded
		}
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(FD(f)), Events: unix.POLLIN}}, int(left.Milliseconds())+1)
		switch {
		case err != nil && !errors.Is(err, unix.EINTR):
			return os.NewSyscallError("poll", err)
		case n > 0:
			return nil
		}
	}
}

// Readable reports whether f is readable now.
func Readable(f *os.File) (bool, error) {
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(FD(f)), Events: unix.POLLIN}}, 0)
	if err != nil && !errors.Is(err, unix.EINTR) {
		return false, os.NewSyscallError("poll", err)
	}
	return n > 0, nil
}

const PollIn = unix.EPOLLIN
