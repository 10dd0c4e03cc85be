package session

import (
	"cmp"
	"errors"
	"maps"
	"path"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	groups "github.com/brig-sandbox/brig/cgroups"
	"github.com/brig-sandbox/brig/runtime/linux"
	"github.com/brig-sandbox/brig/runtime/plan"
)

// A heldName is a name in /box of a program that an exec has, or a process that it has left running.
type heldName struct {
	leaf     *groups.Leaf // of the exec
	numbered bool         // it is not at place 0: brig removes it when nothing uses it
}

// maxPlaces limits the search for names that are free. More are taken only if programs have made files of such names.
const maxPlaces = 1000

// placeProgram finds the first place whose names no other exec has, and at which there is no file of somebody else.
func (s *session) placeProgram(leaf *groups.Leaf, p *plan.Run) (*plan.Run, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	for place := range maxPlaces {
		names := p.NamesAt(place)
		if len(names) == 0 {
			return p, nil
		}
		if p.Movable() && !s.areFree(names, place > 0) {
			continue
		}
		if place == 0 && len(p.Built) > 0 {
			s.replaceBuilt(names)
		}

		for _, name := range names {
			s.programs[name] = heldName{leaf, place > 0}
		}
		return p.At(place), nil
	}

	return nil, api.Refuse(api.CodeBadFile,
		"there are files in /box with all names such as %q, one of which the program needs: remove them",
		p.NamesAt(maxPlaces - 1)[0])
}

// areFree reports whether no exec has one of the names, and, if nothing may be replaced, no file. s.mu is held.
func (s *session) areFree(names []string, absent bool) bool {
	for _, name := range names {
		if _, held := s.programs[name]; held {
			return false
		}
		if absent && exists(s.boxDir(), name) {
			return false
		}
	}
	return true
}

// replaceBuilt removes the artifacts that the last exec has left at place 0 and that the next one does not replace: a
// class of another program would be found among those of the next one. s.mu is held.
func (s *session) replaceBuilt(names []string) {
	var old []string
	for _, name := range s.built {
		if _, held := s.programs[name]; !held && !slices.Contains(names, name) {
			old = append(old, name)
		}
	}
	removeFiles(s.boxDir(), old)
	s.built = names
}

// releaseProgram gives the names of an exec free, of which no process is left. s.mu is held.
func (s *session) releaseProgram(leaf *groups.Leaf) {
	var numbered []string
	for name, held := range s.programs {
		if held.leaf != leaf {
			continue
		}
		delete(s.programs, name)
		if held.numbered {
			numbered = append(numbered, name)
		}
	}
	removeFiles(s.boxDir(), numbered)
}

// exists reports whether there is anything of a name, or whether that cannot be known.
func exists(at sessionDir, name string) bool {
	f, err := linux.OpenBeneath(at.root, name, unix.O_PATH|unix.O_NOFOLLOW, 0)
	if err == nil {
		_ = f.Close()
	}
	return !isNoFile(err)
}

func isNoFile(err error) bool { return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) }

// removeFiles removes files that brig has placed, and their directories if nothing else is in them. What programs
// have put there stays, until the scratch ends with the session: so no error matters.
func removeFiles(at sessionDir, names []string) {
	dirs := map[string]bool{}
	for _, name := range names {
		remove(at, name, 0)
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			dirs[dir] = true
		}
	}

	deepest := slices.SortedFunc(maps.Keys(dirs), func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	for _, dir := range deepest {
		remove(at, dir, unix.AT_REMOVEDIR)
	}
}

// remove removes one name. It follows no link that a program has put on its path.
func remove(at sessionDir, name string, flags int) {
	dir, err := linux.OpenBeneath(at.root, path.Dir(name), unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return
	}
	defer dir.Close()
	_ = unix.Unlinkat(linux.FD(dir), path.Base(name), flags)
}
