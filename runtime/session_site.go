package runtime

import (
	"os"

	"github.com/brig-sandbox/brig/api"
)

// A site is a directory tree of a session in which callers work on files: /box, or
// the volume at /workspace.
type site struct {
	root     *os.File
	uid, gid int    // of what is made there
	most     int64  // bytes of a file; a sparse one may seem larger
	name     string // in the program's eyes
	room     string // what bounds it, and the cure
}

// enterFile begins work on a file that a caller names, if he may: the session is
// entered, and he leaves it.
func (h *Host) enterFile(id, name string, volume bool, c Caller) (*session, site, error) {
	s, err := h.sessions.find(id, c)
	if err != nil {
		return nil, site{}, err
	}
	if err := api.FileName(name); err != nil {
		return nil, site{}, err
	}
	at, err := s.enterSite(volume)
	return s, at, err
}

// enterSite is enter for work in a site; one that is not there is left again.
func (s *session) enterSite(volume bool) (site, error) {
	if err := s.enter(); err != nil {
		return site{}, err
	}
	at, err := s.site(volume)
	if err != nil {
		s.leave()
	}
	return at, err
}

// site gives the one that a caller means.
func (s *session) site(volume bool) (site, error) {
	if !volume {
		return s.box(), nil
	}
	if s.volume == nil {
		return site{}, api.Refuse(api.CodeBadRequest, "session %s has no volume: make one that has (brig session create --volume)", s.id)
	}
	return site{
		root: s.volume.ours, uid: runUID, gid: runGID, most: int64(max(s.volume.size, s.plan.limits.Scratch)), name: "/workspace",
		room: "volume: remove files from it",
	}, nil
}

func (s *session) box() site {
	base := slotIDs(s.cell.slot)
	return site{
		root: s.scratch.box, uid: base + runUID, gid: base + runGID, most: int64(s.plan.limits.Scratch), name: "/box",
		room: "session's scratch: remove files from it, or make a session with more scratch or inodes",
	}
}
