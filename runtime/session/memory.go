package session

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	groups "github.com/brig-sandbox/brig/cgroups"
	"github.com/brig-sandbox/brig/runtime/linux"
	"github.com/brig-sandbox/brig/runtime/plan"
)

// chargeFile charges a file that is about to get its name in /box against the session's memory. The
// kernel has charged it to the agent, which wrote it, and the program may use it as memory
// (MEM-19). It is not visible which of the files the agent wrote. But they take no more
// than all files that were put, and no more than the scratch and a writable root hold now: the group's limit is
// reduced by the smaller of the two. A file that does not fit is refused and has changed nothing.
func (s *session) chargeFile(name string, file *os.File) error {
	var st unix.Stat_t
	if err := unix.Fstat(linux.FD(file), &st); err != nil {
		return os.NewSyscallError("fstat", err)
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	held, err := s.filesHeld() // includes the file, which has no name yet
	if err != nil {
		return err
	}

	placed := min(s.placed+st.Blocks*512, held)
	left := s.groupMemory(placed)
	now, err := s.group.Current()
	if err == nil && left >= int64(api.MinMemory) && now > left { // reclaiming caches may free enough
		if err = s.group.Reclaim(); err == nil {
			now, err = s.group.Current()
		}
	}
	if err != nil {
		return err
	}

	full := left < int64(api.MinMemory) || now > left
	if !full {
		err = s.group.SetMemory(left)
		full = errors.Is(err, unix.EBUSY) // version 1: a program took the memory meanwhile
	}

	switch {
	case full:
		return api.Refuse(api.CodeTooLarge,
			"file %q does not fit into the rest of the session's %s of memory: files that are uploaded count as "+
				"memory: remove some, or make a session with more", name, s.plan.Limits.Memory)
	case err == nil:
		s.placed = placed
	}

	return err
}

// filesHeld is the memory of all files of the session: those of its scratch and of a writable root.
func (s *session) filesHeld() (int64, error) {
	held, _, err := s.scratch.Used()
	if err != nil || !s.plan.Ask.WritableRoot {
		return held, err
	}
	top, err := s.cell.LayerUsed()
	return held + top, err
}

// creditRemoved raises the group's limit again by what programs have removed of the files that were put.
// s.mu is held.
func (s *session) creditRemoved() error {
	if s.placed == 0 {
		return nil
	}
	held, err := s.filesHeld()
	if err != nil || held >= s.placed {
		return err
	}
	s.placed = held
	return s.group.SetMemory(s.groupMemory(held))
}

// groupMemory returns the limit of the group, given the memory of files that were put.
func (s *session) groupMemory(placed int64) int64 {
	return int64(s.plan.Limits.Memory - api.Size(placed)/plan.InputMemoryStep*plan.InputMemoryStep)
}

// freedTimeout is how much longer an exec that ran out of memory may last for that, and freedMemory what the kernel
// may be late to count.
const (
	freedTimeout = time.Second
	freedMemory  = 2 << 20
)

// awaitFreed waits until the memory of an exec is free whose processes were killed for it. A program that looks at one
// while it ends, as ps does, keeps its memory until it has looked. The next exec would then meet the limit of the
// session, and the kernel would kill it, or a process that an earlier exec left running.
func (s *session) awaitFreed(leaf *groups.Leaf) {
	freed, err := poll(freedTimeout, func() (bool, error) {
		empty, err := leaf.Empty()
		if err != nil || !empty {
			return !empty, err // what still runs has memory
		}
		held, err := leaf.Anonymous()
		return held < freedMemory, err
	})
	if err != nil || !freed {
		s.registry.log.Warn("the memory of an exec that ran out of memory is not free", "session", s.id, "after",
			freedTimeout, "err", err)
	}
}

// poll calls is until it says yes or fails, for at most so long; at least once.
func poll(maximum time.Duration, is func() (bool, error)) (bool, error) {
	const pause = 5 * time.Millisecond
	for until := linux.Monotonic() + maximum; ; time.Sleep(pause) {
		if yes, err := is(); yes || err != nil || linux.Monotonic() >= until {
			return yes, err
		}
	}
}
