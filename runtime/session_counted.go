package runtime

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
)

// count has a file that is about to get its name in /box count against the session's
// memory. The kernel has charged it to us, who wrote it, and the program may use it as
// memory (MEM-19). Which of the files in the scratch are ours is not to be seen, but
// they take no more than all that were put, and no more than lies there by now: by the
// smaller of the two the group has less than its limit. A file that does not fit is
// refused, and has changed nothing.
func (s *session) count(name string, file *os.File) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd(file), &st); err != nil {
		return os.NewSyscallError("fstat", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	held, _, err := s.scratch.held() // with the file, which has no name yet
	if err != nil {
		return err
	}
	placed := min(s.placed+st.Blocks*512, held)
	left := s.besidePlaced(placed)
	now, err := s.group.Current()
	if err == nil && left >= int64(api.MinMemory) && now > left { // caches may make room
		if err = s.group.Reclaim(); err == nil {
			now, err = s.group.Current()
		}
	}
	if err != nil {
		return err
	}
	full := left < int64(api.MinMemory) || now > left
	if !full {
		err = s.group.Limit(left)
		full = errors.Is(err, unix.EBUSY) // version 1: a program took it meanwhile
	}
	switch {
	case full:
		return api.Refuse(api.CodeTooLarge, "file %q does not fit into what is left of the session's %s of memory, which files that are put count against: remove some, or make a session with more", name, s.plan.limits.Memory)
	case err == nil:
		s.placed = placed
	}
	return err
}

// recount gives the group what programs have removed of the files that were put; s.mu is
// held.
func (s *session) recount() error {
	if s.placed == 0 {
		return nil
	}
	held, _, err := s.scratch.held()
	if err != nil || held >= s.placed {
		return err
	}
	s.placed = held
	return s.group.Limit(s.besidePlaced(held))
}

// besidePlaced is the limit of the group beside files that were put.
func (s *session) besidePlaced(placed int64) int64 {
	return int64(s.plan.limits.Memory - api.Size(placed)/countedStep*countedStep)
}
