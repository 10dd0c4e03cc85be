package runtime

import (
	"fmt"
	"os"
)

// hold keeps the session's handles open until it is released: for work on them that
// waits for nobody. A number that is closed meanwhile could be another session's.
func (s *session) hold() (release func(), err error) {
	s.handles.RLock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gone {
		s.handles.RUnlock()
		return nil, endedError(s.id, s.why)
	}
	return s.handles.RUnlock, nil
}

// keep notes a file that is open for a caller, who may be slow: the session closes it
// when it ends, or its scratch would outlive it. The handles are held.
func (s *session) keep(f *os.File) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files[f] = struct{}{}
}

// forget closes a file that was kept. It may be closed already.
func (s *session) forget(f *os.File) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.gone {
		delete(s.files, f)
	}
	_ = f.Close()
}

func procFD(f *os.File) string { return fmt.Sprintf("/proc/self/fd/%d", fd(f)) }
