package problems

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/durable"
)

// A Store has the packages of all keys in one directory, a file for each: its name is the name of the
// key, a colon, which no name has, and the name of the problem. It is safe for use by many goroutines.
type Store struct {
	dir string

	mu     sync.Mutex
	all    map[string]map[string]api.StoredProblem // guarded by mu; by owner and name
	drafts map[*Draft]int64                        // guarded by mu; bytes that are reserved for packages on their way
}

// A Usage is how many packages there are, and their bytes.
type Usage struct {
	Number int
	Bytes  int64
}

// Open opens the directory, which it makes if it is missing, and removes what a killed process left
// half written. damaged has the files that cannot be read; they stay.
func Open(dir string) (s *Store, damaged []error, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, nil, err
	}

	s = &Store{dir: dir, all: map[string]map[string]api.StoredProblem{}, drafts: map[*Draft]int64{}}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, nil, err
	}

	for _, one := range entries {
		path := filepath.Join(dir, one.Name())
		owner, name, is := strings.Cut(one.Name(), ":")
		if !is {
			if err := os.Remove(path); err != nil {
				return nil, nil, err
			}
			continue
		}

		p, err := openStored(path)
		if err != nil {
			damaged = append(damaged, fmt.Errorf("%s: %w", path, err))
			continue
		}

		about := p.About()
		about.Name = name
		s.add(owner, about)
		if err := p.Close(); err != nil {
			return nil, nil, err
		}
	}

	return s, damaged, nil
}

// add adds a package; s.mu is held, or nobody else has s.
func (s *Store) add(owner string, about api.StoredProblem) {
	if s.all[owner] == nil {
		s.all[owner] = map[string]api.StoredProblem{}
	}
	s.all[owner][about.Name] = about
}

func (s *Store) path(owner, name string) string { return filepath.Join(s.dir, owner+":"+name) }

// List returns the packages of an owner, by name.
func (s *Store) List(owner string) []api.StoredProblem {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := []api.StoredProblem{}
	for _, one := range s.all[owner] {
		list = append(list, one)
	}
	slices.SortFunc(list, func(a, b api.StoredProblem) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

// About says what a package of an owner is, by its name or digest, without opening it.
func (s *Store) About(owner, ref string) (api.StoredProblem, error) {
	if !api.ProblemDigest(ref) {
		if err := api.ProblemName(ref); err != nil {
			return api.StoredProblem{}, err
		}
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	if p, ok := s.all[owner][ref]; ok {
		return p, nil
	}

	for _, p := range s.all[owner] {
		if p.Digest == ref {
			return p, nil
		}
	}

	return api.StoredProblem{}, unknown(ref)
}

// Find opens a package of an owner, by its name or digest. The caller closes it.
func (s *Store) Find(owner, ref string) (*Stored, error) {
	name := ref
	if api.ProblemDigest(ref) {
		list := s.List(owner)
		i := slices.IndexFunc(list, func(one api.StoredProblem) bool { return one.Digest == ref })
		if i < 0 {
			return nil, unknown(ref)
		}
		name = list[i].Name
	} else if err := api.ProblemName(ref); err != nil {
		return nil, err
	}

	p, err := openStored(s.path(owner, name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, unknown(ref)
	case err != nil:
		return nil, api.Fail(api.CodeInternal, "problem %q of key %q: %w", name, owner, err)
	case name != ref && p.entry.About.Digest != ref: // it was replaced meanwhile
		return nil, errors.Join(unknown(ref), p.Close())
	}

	p.entry.About.Name = name
	return p, nil
}

func unknown(ref string) error {
	return api.Refuse(api.CodeNoProblem,
		"there is no problem %.80q: GET /v1/problems lists those of this key, and PUT /v1/problems/NAME stores one", ref)
}

// Remove removes a package of an owner.
func (s *Store) Remove(owner, name string) error {
	if err := api.ProblemName(name); err != nil {
		return err
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	err := os.Remove(s.path(owner, name))
	if errors.Is(err, fs.ErrNotExist) {
		return unknown(name)
	}
	if err != nil {
		return err
	}

	delete(s.all[owner], name)
	return durable.SyncDir(s.dir)
}

// usage is what an owner has and what all have, without the package that is replaced and the draft
// itself; s.mu is held.
func (s *Store) usage(d *Draft) (own, all Usage) {
	add := func(owner string, bytes int64) {
		all.Number++
		all.Bytes += bytes
		if owner == d.owner {
			own.Number++
			own.Bytes += bytes
		}
	}

	for owner, theirs := range s.all {
		for name, one := range theirs {
			if owner != d.owner || name != d.name {
				add(owner, one.Bytes)
			}
		}
	}

	for other, bytes := range s.drafts {
		if other != d {
			add(other.owner, bytes)
		}
	}

	return own, all
}
