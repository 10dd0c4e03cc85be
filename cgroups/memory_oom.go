package cgroups

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// OOMEvent returns a descriptor to poll and the events to poll for: POLLIN on version 1
// (an eventfd), POLLPRI on v2 (memory.events.local, which also wakes for "max" and
// similar events). It is only a hint to read the counters of Usage, which are the
// evidence: on version 1 the kernel also notifies the groups below the one that is out
// of memory, and signals before it kills.
func (l *Leaf) OOMEvent() (f *os.File, events int16) {
	if l.oomFD >= 0 {
		return l.oom, unix.POLLIN
	}
	return l.oom, unix.POLLPRI
}

// armOOM prepares the descriptor. On v2 it is a separate descriptor: reading
// memory.events.local through another one must not consume its event.
func (l *Leaf) armOOM() (err error) {
	l.oomFD = -1
	if l.cell.tree.layout.Unified {
		l.oom, err = openIn(l.dir, "memory.events.local", unix.O_RDONLY)
		return err
	}

	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
	if err != nil {
		return fmt.Errorf("make eventfd: %w", err)
	}

	l.oom = os.NewFile(uintptr(fd), "eventfd of "+l.events.Name())

	// It becomes non-blocking only after os.NewFile has inspected it: it must not be
	// registered with Go's poller, and File.Fd must not make it blocking again.
	if err := unix.SetNonblock(fd, true); err != nil {
		return fmt.Errorf("make eventfd: %w", err)
	}

	l.oomFD = fd
	return l.write(Write{"cgroup.event_control", fmt.Sprintf("%d %d", fd, l.events.Fd())})
}

// DrainOOM consumes the event, on v2 and on version 1, so that the next poll waits for
// the next one.
func (l *Leaf) DrainOOM() error {
	if l.oomFD >= 0 {
		return l.drainOOM()
	}
	var buf [512]byte
	_, err := pread(l.oom, buf[:])
	return err
}

// drainOOM discards events of the previous run.
func (l *Leaf) drainOOM() error {
	if l.oomFD < 0 {
		return nil
	}
	var buf [8]byte
	_, err := unix.Read(l.oomFD, buf[:])
	if err == unix.EAGAIN || err == unix.EINTR { // no event; one left over wakes a poll once only
		return nil
	}
	return err
}
