package session

import (
	"os"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/runtime/plan"
)

// A sessionDir is a directory tree of a session in which callers work on files: /box, or the volume at
// /workspace.
type sessionDir struct {
	root     *os.File
	uid, gid int    // owner of what is made there
	maxFile  int64  // maximum size of a file; a sparse file may claim more
	name     string // its path as the program sees it
	fullHint string // what limits it, and the remedy
}

// enterDirOf begins work on a file that a caller names, if the caller may do that. It enters the
// session, and the caller of enterDirOf must leave it.
func (r *Registry) enterDirOf(id, name string, volume bool, c api.Caller) (*session, sessionDir, error) {
	s, err := r.find(id, c)
	if err != nil {
		return nil, sessionDir{}, err
	}
	if err := api.FileName(name); err != nil {
		return nil, sessionDir{}, err
	}
	at, err := s.enterDir(volume)
	return s, at, err
}

// enterDir enters the session for work in a directory tree. If there is no such tree it leaves the
// session again.
func (s *session) enterDir(volume bool) (sessionDir, error) {
	if err := s.enter(); err != nil {
		return sessionDir{}, err
	}
	at, err := s.dir(volume)
	if err != nil {
		s.leave()
	}
	return at, err
}

// dir returns the directory tree that a caller means.
func (s *session) dir(volume bool) (sessionDir, error) {
	if !volume {
		return s.boxDir(), nil
	}
	if s.volume == nil {
		return sessionDir{}, api.Refuse(api.CodeBadRequest,
			"session %s has no volume: make one that has (brig session create --volume)", s.id)
	}
	return sessionDir{
		root: s.volume.AgentMount, uid: plan.UID, gid: plan.GID,
		maxFile: int64(max(s.volume.Size, s.plan.Limits.Scratch)), name: "/workspace",
		fullHint: "volume: remove files from it",
	}, nil
}

func (s *session) boxDir() sessionDir {
	base := plan.SlotIDs(s.cell.Slot)
	return sessionDir{
		root: s.scratch.Box, uid: base + plan.UID, gid: base + plan.GID, maxFile: int64(s.plan.Limits.Scratch), name: "/box",
		fullHint: "session's scratch: remove files from it, or make a session with more scratch or inodes",
	}
}
