package runtime

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// A poller waits for many descriptors in one goroutine. Its epoll set is itself
// watched by Go's network poller, so that a waiting run blocks no thread.
type poller struct {
	file   *os.File
	events [16]unix.EpollEvent
}

func newPoller() (*poller, error) {
	n, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	if err := unix.SetNonblock(n, true); err != nil { // or os.NewFile would not poll it
		return nil, errors.Join(err, unix.Close(n))
	}
	return &poller{file: os.NewFile(uintptr(n), "epoll")}, nil
}

func (p *poller) Close() error { return p.file.Close() }

// add watches f; tag comes back from wait. Closing f ends it.
func (p *poller) add(f *os.File, events uint32, tag int32) error {
	ev := unix.EpollEvent{Events: events, Fd: tag}
	return os.NewSyscallError("epoll_ctl add", unix.EpollCtl(fd(p.file), unix.EPOLL_CTL_ADD, fd(f), &ev))
}

// drop stops watching f. One that is not watched is no error.
func (p *poller) drop(f *os.File) error {
	err := unix.EpollCtl(fd(p.file), unix.EPOLL_CTL_DEL, fd(f), nil)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EBADF) {
		return nil
	}
	return os.NewSyscallError("epoll_ctl del", err)
}

// wait returns at least one event.
func (p *poller) wait() ([]unix.EpollEvent, error) {
	conn, err := p.file.SyscallConn()
	if err != nil {
		return nil, err
	}
	var n int
	var waitErr error
	err = conn.Read(func(epfd uintptr) bool {
		n, waitErr = unix.EpollWait(int(epfd), p.events[:], 0)
		if errors.Is(waitErr, unix.EINTR) {
			n, waitErr = 0, nil
		}
		return n > 0 || waitErr != nil
	})
	return p.events[:max(n, 0)], errors.Join(err, os.NewSyscallError("epoll_wait", waitErr))
}

// A timer is a timerfd on the monotonic clock: Go's own timers round to a
// millisecond or more.
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
	return os.NewSyscallError("timerfd_settime", unix.TimerfdSettime(fd(t.file), unix.TFD_TIMER_ABSTIME, &spec, nil))
}

// drain takes the expiry that made the timer readable.
func (t timer) drain() {
	var b [8]byte
	_, _ = unix.Read(fd(t.file), b[:])
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

// wake may be called from anywhere; a counter that is full has woken already.
func (e eventfd) wake() {
	one := [8]byte{1}
	_, _ = unix.Write(fd(e.file), one[:])
}

// clear takes what wake left.
func (e eventfd) clear() {
	var b [8]byte
	_, _ = unix.Read(fd(e.file), b[:])
}

// waitReadable blocks until f is readable, which a pidfd is when its process has
// ended and been taken down.
func waitReadable(f *os.File, timeout time.Duration) error {
	deadline := time.Now().Add(timeout)
	for {
		left := time.Until(deadline)
		if left <= 0 {
			return os.ErrDeadlineExceeded
		}
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd(f)), Events: unix.POLLIN}}, int(left.Milliseconds())+1)
		switch {
		case err != nil && !errors.Is(err, unix.EINTR):
			return os.NewSyscallError("poll", err)
		case n > 0:
			return nil
		}
	}
}

const pollIn = unix.EPOLLIN
