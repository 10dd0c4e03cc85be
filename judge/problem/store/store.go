// Package store keeps problem packages by name and digest in a directory. What it has is whole at every
// moment: a package or a name is there completely or not at all, whatever ends the process that writes it
// (TestKilledWritersLeaveAWholeStore).
//
//	packages/HEX.zip   a package as problem.Tree.Pack writes it; HEX is of its digest
//	names/NAME.json    an Entry
//	lock               locked by the one that writes
package store

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/durable"
	"github.com/brig-sandbox/brig/internal/flock"
	"github.com/brig-sandbox/brig/internal/inputfile"
	"github.com/brig-sandbox/brig/judge/problem"
)

// The usual bounds of a Store.
const (
	DefaultBytes = 16 * api.GiB
	DefaultNames = 10_000
)

const maxEntry = 64 << 10 // bytes of an Entry's file

// A Store is a directory of packages. Any number of processes may use one.
type Store struct {
	Dir      string   // made with the first package
	MaxBytes api.Size // of all packages; zero: DefaultBytes
	MaxNames int      // zero: DefaultNames
}

// An Entry says what is stored under a name.
type Entry struct {
	Name   string    `json:"name"`
	Digest string    `json:"digest"` // of problem.Tree.Digest
	Format string    `json:"format"` // of problem.Problem
	Title  string    `json:"title,omitempty"`
	Tests  int       `json:"tests"`
	Bytes  api.Size  `json:"bytes"`  // of the stored archive
	Stored time.Time `json:"stored"` // UTC
}

// ErrNone is wrapped by errors about a name that the store does not have.
var ErrNone = errors.New("there is no such problem")

// A FullError says that a package does not fit into the bounds of a store.
type FullError struct{ text string }

func (e *FullError) Error() string { return e.text }

// CheckName refuses a name that no problem may be stored under.
func CheckName(name string) error {
	if api.ProblemName(name) != nil { // this text is for files here, and that one for the service
		return fmt.Errorf("the name %q of a problem: use 1 to 100 letters, digits, dots, dashes and underscores, and "+
			"begin with a letter or digit", name)
	}
	return nil
}

// Put stores a package that a reader of its format has accepted: p, whose files are t. A package that had
// the name before is replaced, and removed if no other name has it. changed is false if the name had this
// package already. Once ctx has ended, nothing changes and the error is its cause.
func (s Store) Put(ctx context.Context, name string, p *problem.Problem,
	t *problem.Tree) (e Entry, changed bool, err error) {
	if err := CheckName(name); err != nil {
		return e, false, err
	}

	for _, dir := range []string{s.Dir, s.path("packages"), s.path("names")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return e, false, err
		}
	}

	unlock, err := s.lock()
	if err != nil {
		return e, false, err
	}
	defer unlock()

	// What a killed writer left takes space on the disk that this package may need.
	all, err := s.sweep()
	if err != nil {
		return e, false, err
	}

	staged, err := os.CreateTemp(s.path("packages"), "staged-")
	if err != nil {
		return e, false, err
	}
	defer os.Remove(staged.Name()) // after it has been renamed, there is none

	e = Entry{Name: name, Format: p.Format, Title: short(p.Title), Tests: len(p.Tests),
		Stored: time.Now().UTC().Truncate(time.Second)}
	e.Digest, err = t.Pack(ctx, staged)
	if err == nil {
		e.Bytes, err = sizeOf(staged)
	}
	if err := errors.Join(err, staged.Sync(), staged.Close()); err != nil {
		return e, false, err
	}
	if err := s.fits(all, e); err != nil {
		return e, false, err
	}
	if i := slices.IndexFunc(all, func(old Entry) bool { return old.Name == name }); i >= 0 && all[i].Digest == e.Digest {
		return all[i], false, nil
	}

	// The package comes before its name. A process that ends in between leaves a package without a name,
	// which the next sweep removes, and never a name without a package.
	if err := os.Rename(staged.Name(), s.archive(e.Digest)); err != nil {
		return e, false, err
	}
	if err := durable.SyncDir(s.path("packages")); err != nil {
		return e, false, err
	}
	if err := s.write(e); err != nil {
		return e, false, err
	}

	// The package that had the name before may have none now.
	_, err = s.sweep()
	return e, true, err
}

// short is the beginning of a title, so that an Entry stays small.
func short(title string) string {
	if runes := []rune(title); len(runes) > 200 {
		return string(runes[:200]) + "..."
	}
	return title
}

func sizeOf(f *os.File) (api.Size, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return api.Size(info.Size()), nil
}

// fits refuses a package for which there is no room.
func (s Store) fits(all []Entry, e Entry) error {
	names, sizes := map[string]bool{e.Name: true}, map[string]api.Size{e.Digest: e.Bytes}
	for _, old := range all {
		names[old.Name] = true
		if old.Name != e.Name {
			sizes[old.Digest] = old.Bytes
		}
	}

	var total api.Size
	for _, size := range sizes {
		total += size
	}

	switch maximum, maxNames := cmp.Or(s.MaxBytes, DefaultBytes), cmp.Or(s.MaxNames, DefaultNames); {
	case total > maximum:
		return &FullError{fmt.Sprintf("%s would have %s with this package, and its limit is %s: remove problems that "+
			"are not needed", s.Dir, total.About(), maximum)}
	case len(names) > maxNames:
		return &FullError{fmt.Sprintf("%s has %d problems, which is its limit: remove some that are not needed", s.Dir,
			len(names)-1)}
	}

	return nil
}

// Open opens the package that has a name. Its label is the name. The caller closes the tree.
func (s Store) Open(name string) (*problem.Tree, Entry, error) {
	e, err := s.Entry(name)
	if err != nil {
		return nil, e, err
	}
	t, err := problem.Open(s.archive(e.Digest))
	if err != nil {
		return nil, e, err
	}
	return t.Labeled(name), e, nil
}

// Entry says what has a name. The error wraps ErrNone if nothing has it.
func (s Store) Entry(name string) (Entry, error) {
	if err := CheckName(name); err != nil {
		return Entry{}, err
	}
	e, err := s.read(name)
	if errors.Is(err, fs.ErrNotExist) {
		return e, fmt.Errorf("%s: %w", name, ErrNone)
	}
	return e, err
}

// List returns what the store has, by name.
func (s Store) List() ([]Entry, error) {
	files, err := os.ReadDir(s.path("names"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}

	all := make([]Entry, 0, len(files))
	for _, f := range files {
		name, isEntry := strings.CutSuffix(f.Name(), ".json")
		if !isEntry || CheckName(name) != nil {
			continue // being written
		}
		e, err := s.read(name)
		switch {
		case errors.Is(err, fs.ErrNotExist): // removed just now
		case err != nil:
			return nil, err
		default:
			all = append(all, e)
		}
	}

	return all, nil
}

// Remove forgets a name, and the package if no other name has it. The error wraps ErrNone if nothing
// has the name.
func (s Store) Remove(name string) (Entry, error) {
	e, err := s.Entry(name)
	if err != nil {
		return e, err
	}

	unlock, err := s.lock()
	if err != nil {
		return e, err
	}
	defer unlock()

	if err := os.Remove(s.entry(name)); errors.Is(err, fs.ErrNotExist) {
		return e, fmt.Errorf("%s: %w", name, ErrNone)
	} else if err != nil {
		return e, err
	}

	_, err = s.sweep()
	return e, err
}

func (s Store) path(parts ...string) string {
	return filepath.Join(append([]string{s.Dir}, parts...)...)
}
func (s Store) entry(name string) string { return s.path("names", name+".json") }

func (s Store) archive(digest string) string {
	return s.path("packages", strings.TrimPrefix(digest, "sha256:")+".zip")
}

// lock waits until no other process writes, and returns the function that lets others write.
func (s Store) lock() (func(), error) {
	f, err := os.OpenFile(s.path("lock"), os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}

	if err := flock.Lock(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() { _ = f.Close() }, nil // nothing was written to it
}

func (s Store) read(name string) (Entry, error) {
	var e Entry
	text, err := inputfile.Read(s.entry(name), maxEntry)
	if err != nil {
		return e, err
	}
	if err := json.Unmarshal(text, &e); err != nil || e.Name != name || !api.ProblemDigest(e.Digest) {
		return e, fmt.Errorf("%s is damaged: remove the file, and import the problem again", s.entry(name))
	}
	return e, nil
}

// write gives a name to a package.
func (s Store) write(e Entry) error {
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	return durable.Replace(s.entry(e.Name), text, 0o600)
}

// sweep removes what a writer left that was ended, and packages without a name. The caller has the lock.
func (s Store) sweep() ([]Entry, error) {
	all, err := s.List()
	if err != nil {
		return nil, err
	}

	kept := map[string]bool{}
	for _, e := range all {
		kept[s.archive(e.Digest)], kept[s.entry(e.Name)] = true, true
	}

	for _, dir := range []string{s.path("packages"), s.path("names")} {
		files, err := os.ReadDir(dir)
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			if name := filepath.Join(dir, f.Name()); !kept[name] {
				if err := os.Remove(name); err != nil {
					return nil, err
				}
			}
		}
	}

	return all, nil
}
