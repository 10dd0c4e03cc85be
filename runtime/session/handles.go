package session

import "os"

// holdHandles keeps the session's handles open until release is called. It is for work on them that waits
// for nothing. Without it the descriptor number of a handle that is closed meanwhile could belong
// to another session.
func (s *session) holdHandles() (release func(), err error) {
	s.handlesMu.RLock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		s.handlesMu.RUnlock()
		return nil, endedError(s.id, s.reason)
	}
	return s.handlesMu.RUnlock, nil
}

// registerFile registers a file that is open for a caller, which may be slow. The session closes the file
// when it ends: otherwise the file would keep its scratch alive. The handles are held.
func (s *session) registerFile(f *os.File) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files[f] = struct{}{}
}

// unregisterFiles takes files back that registerFile has registered. The handles are held.
func (s *session) unregisterFiles(files ...*os.File) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range files {
		delete(s.files, f)
	}
}

// closeFile closes a registered file. It may be closed already.
func (s *session) closeFile(f *os.File) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		delete(s.files, f)
	}
	_ = f.Close()
}
