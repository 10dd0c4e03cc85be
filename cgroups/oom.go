package cgroups

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// OOMEvent returns a descriptor to poll and what to poll it for: POLLIN on version 1
// (an eventfd), POLLPRI on v2 (memory.events.local, which also wakes for "max" and
// the like). It only says "look": on version 1 the kernel tells the groups below
// the one out of memory too, and signals before it kills. The counters of Usage are
// the evidence.
func (l *Leaf) OOMEvent() (f *os.File, events int16) {
	if l.oomFD >= 0 {
		return l.oom, unix.POLLIN
	}
	return l.oom, unix.POLLPRI
}

// armOOM prepares the descriptor. On v2 it is one of its own: reading
// memory.events.local elsewhere must not take its event away.
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
	// Made non-blocking only after Go has looked at it: Go's poller must not hold it,
	// and File.Fd must not make it blocking again.
	if err := unix.SetNonblock(fd, true); err != nil {
		return fmt.Errorf("make eventfd: %w", err)
	}
	l.oomFD = fd
	return l.write(Write{"cgroup.event_control", fmt.Sprintf("%d %d", fd, l.events.Fd())})
}

// DrainOOM reads the event of v2 or version 1 away, so that the next poll waits for
// the next one.
func (l *Leaf) DrainOOM() error {
	if l.oomFD >= 0 {
		return l.drainOOM()
	}
	var buf [512]byte
	_, err := pread(l.oom, buf[:])
	return err
}
