package runtime

import (
	"errors"
	"os"
	"time"

	"github.com/brig-sandbox/brig/runtime/linux"

	"golang.org/x/sys/unix"
)

// A poller waits for many descriptors in one goroutine, whose thread sleeps in the kernel
// meanwhile. If Go's network poller watched its epoll set instead, like any other descriptor, the
// kernel would take a lock of the whole host for every descriptor added (fs/eventpoll.c,
// epnested_mutex). Any program with many epoll sets can hold that lock for tenths of a second
// (CPU-40).
//
// A thread that sleeps this way keeps the right to run Go code, one of GOMAXPROCS, until the
// monitor takes it. raiseGOMAXPROCS compensates for that.
type poller struct {
	file   *os.File
	fd     int
	events [16]unix.EpollEvent

	// If directFD is not 0, wait polls for events of this descriptor in addition to the set. The
	// kernel wakes a poll(2) on the intended processor (wakeOnSameCPU); an epoll set passes that on as a
	// hint only.
	directFD  int32
	directTag int32
}

func newPoller() (*poller, error) {
	n, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	return &poller{file: os.NewFile(uintptr(n), "epoll"), fd: n}, nil
}

func (p *poller) Close() error { return p.file.Close() }

// add adds f to the set; wait returns tag with its events. Closing f removes it.
func (p *poller) add(f *os.File, events uint32, tag int32) error {
	ev := unix.EpollEvent{Events: events, Fd: tag}
	return os.NewSyscallError("epoll_ctl add", unix.EpollCtl(p.fd, unix.EPOLL_CTL_ADD, linux.FD(f), &ev))
}

// modify sets the events of f; none: f stays in the set and reports nothing.
func (p *poller) modify(f *os.File, events uint32, tag int32) error {
	ev := unix.EpollEvent{Events: events, Fd: tag}
	return os.NewSyscallError("epoll_ctl mod", unix.EpollCtl(p.fd, unix.EPOLL_CTL_MOD, linux.FD(f), &ev))
}

// remove removes f from the set. It is no error if f is not in the set.
func (p *poller) remove(f *os.File) error {
	err := unix.EpollCtl(p.fd, unix.EPOLL_CTL_DEL, linux.FD(f), nil)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EBADF) {
		return nil
	}
	return os.NewSyscallError("epoll_ctl del", err)
}

// wait returns at least one event.
func (p *poller) wait() ([]unix.EpollEvent, error) {
	timeout := -1
	for {
		if p.directFD != 0 {
			fds := [2]unix.PollFd{{Fd: p.directFD, Events: unix.POLLIN}, {Fd: int32(p.fd), Events: unix.POLLIN}}
			switch _, err := unix.Poll(fds[:], -1); {
			case err == unix.EINTR:
				continue
			case err != nil:
				return nil, os.NewSyscallError("poll", err)
			case fds[1].Revents == 0:
				p.events[0] = unix.EpollEvent{Events: uint32(fds[0].Revents), Fd: p.directTag}
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

// A timer is a timerfd on the monotonic clock. Go's own timers round to a millisecond or more.
type timer struct{ file *os.File }

func newTimer() (timer, error) {
	n, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK)
	if err != nil {
		return timer{}, os.NewSyscallError("timerfd_create", err)
	}
	return timer{os.NewFile(uintptr(n), "timerfd")}, nil
}

// set arms the timer for the instant at; zero disarms it.
func (t timer) set(at time.Duration) error {
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(at))}
	return os.NewSyscallError("timerfd_settime", unix.TimerfdSettime(linux.FD(t.file), unix.TFD_TIMER_ABSTIME, &spec, nil))
}

// drain reads the expiry that made the timer readable.
func (t timer) drain() {
	var b [8]byte
	_, _ = unix.Read(linux.FD(t.file), b[:])
}

// An eventfd wakes a poller from another goroutine.
type eventfd struct{ file *os.File }

func newEventfd() (eventfd, error) {
	n, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return eventfd{}, os.NewSyscallError("eventfd", err)
	}
	return eventfd{os.NewFile(uintptr(n), "eventfd")}, nil
}

// wake may be called from any goroutine. If the counter is full, the poller is woken already.
func (e eventfd) wake() {
	one := [8]byte{1}
	_, _ = unix.Write(linux.FD(e.file), one[:])
}

// clear reads the counter that wake increased.
func (e eventfd) clear() {
	var b [8]byte
	_, _ = unix.Read(linux.FD(e.file), b[:])
}

// waitReadable blocks until f is readable. A pidfd is readable when its process has ended and its
// resources are released.
func waitReadable(f *os.File, timeout time.Duration) error {
	deadline := time.Now().Add(timeout)
	for {
		left := time.Until(deadline)
		if left <= 0 {
			return os.ErrDeadlineExceeded
		}
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(linux.FD(f)), Events: unix.POLLIN}}, int(left.Milliseconds())+1)
		switch {
		case err != nil && !errors.Is(err, unix.EINTR):
			return os.NewSyscallError("poll", err)
		case n > 0:
			return nil
		}
	}
}

// readable reports whether f is readable now.
func readable(f *os.File) (bool, error) {
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(linux.FD(f)), Events: unix.POLLIN}}, 0)
	if err != nil && !errors.Is(err, unix.EINTR) {
		return false, os.NewSyscallError("poll", err)
	}
	return n > 0, nil
}

const pollIn = unix.EPOLLIN
