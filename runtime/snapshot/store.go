package snapshot

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/flock"
	"github.com/brig-sandbox/brig/runtime/linux"
)

// Config says where snapshots are kept, and how many bytes they may take.
type Config struct {
	Dir   string   // empty: there are no snapshots
	Total api.Size // of all; zero: api.SnapshotsTotal
}

// A Store has the snapshots of a host. Its directory, which belongs to root alone, holds
//
//	lock                        flocked while one gets its name
//	UID/SPACE/DIGEST.snapshot   one; SPACE is - or a hash of its name, see api.SnapshotRequest
//	UID/SPACE/.new-RANDOM       one that is being made; its maker holds a flock on it
//
// So whoever is killed leaves no half snapshot: what has no name yet is removed when the next one is made.
type Store struct{ Config }

const (
	suffix    = ".snapshot"
	newPrefix = ".new-"
)

// New makes a Store.
func New(c Config) *Store {
	c.Total = cmp.Or(c.Total, api.SnapshotsTotal)
	return &Store{c}
}

// An Owner is whose snapshots are meant. Nobody finds those of another one (SNP-01).
type Owner struct {
	UID   uint32
	Space string
}

func (s *Store) dir(o Owner) string {
	space := "-"
	if o.Space != "" {
		sum := sha256.Sum256([]byte(o.Space))
		space = hex.EncodeToString(sum[:])
	}
	return filepath.Join(s.Dir, strconv.FormatUint(uint64(o.UID), 10), space)
}

// Check refuses if there are no snapshots here.
func (s *Store) Check() error {
	if s.Dir == "" {
		return api.Refuse(api.CodeUnsupported, "snapshots are disabled on this agent: have the operator leave out brigd --snapshots none")
	}
	return nil
}

// about is the description of a snapshot, as its file has it.
type about struct {
	Name, Base, Language string
	Files, Bytes         int64
	Created, Expires     int64 // seconds since 1970
}

// A stored snapshot is one whose file is there and has not expired.
type stored struct {
	api.Snapshot
	path    string
	created time.Time
}

// describe reads the description of a file.
func describe(path string) (s stored, err error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return s, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return s, err
	}

	head := make([]byte, aboutSize)
	if _, err := f.ReadAt(head, 0); err != nil {
		return s, damaged(err)
	}
	text, is := bytes.CutPrefix(head, magic[:])
	var a about
	if !is || json.Unmarshal(bytes.TrimRight(text, "\x00"), &a) != nil {
		return s, errDamaged
	}

	at := func(seconds int64) string { return time.Unix(seconds, 0).UTC().Format(time.RFC3339) }
	s.path, s.created = path, st.ModTime()
	s.Snapshot = api.Snapshot{ID: idPrefix + strings.TrimSuffix(filepath.Base(path), suffix), Name: a.Name, Base: a.Base,
		Language: a.Language, Files: a.Files, Bytes: a.Bytes, Stored: st.Size(), Created: at(a.Created), Expires: at(a.Expires)}
	if time.Now().Unix() >= a.Expires {
		return s, fs.ErrNotExist
	}
	return s, nil
}

// list describes those of an owner, the latest first.
func (s *Store) list(o Owner) ([]stored, error) {
	if s.Dir == "" {
		return nil, nil
	}
	entries, err := os.ReadDir(s.dir(o))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []stored
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), suffix) || e.Name()[0] == '.' {
			continue
		}
		one, err := describe(filepath.Join(s.dir(o), e.Name()))
		switch {
		case err == nil:
			all = append(all, one)
		case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errDamaged):
			return nil, err
		}
	}
	slices.SortStableFunc(all, func(a, b stored) int { return b.created.Compare(a.created) })

	named := map[string]bool{} // a later one has taken the name
	for i, one := range all {
		if one.Name != "" && named[one.Name] {
			all[i].Name = ""
		}
		named[one.Name] = true
	}
	return all, nil
}

// List describes the snapshots of an owner, the latest first.
func (s *Store) List(o Owner) ([]api.Snapshot, error) {
	all, err := s.list(o)
	out := make([]api.Snapshot, 0, len(all))
	for _, one := range all {
		out = append(out, one.Snapshot)
	}
	return out, err
}

// find returns the snapshot with an id or a name.
func (s *Store) find(o Owner, ref string) (stored, error) {
	if err := s.Check(); err != nil {
		return stored{}, err
	}
	if err := api.SnapshotRef(ref); err != nil {
		return stored{}, err
	}
	missing := api.Refuse(api.CodeNotFound, "there is no snapshot %q: see brig snapshot ls", ref)
	if hexDigits, is := strings.CutPrefix(ref, idPrefix); is {
		one, err := describe(filepath.Join(s.dir(o), hexDigits+suffix))
		if errors.Is(err, fs.ErrNotExist) {
			return stored{}, missing
		}
		return one, explainDamage(ref, err)
	}

	all, err := s.list(o)
	if err != nil {
		return stored{}, err
	}
	i := slices.IndexFunc(all, func(one stored) bool { return one.Name == ref })
	if i < 0 {
		return stored{}, missing
	}
	return all[i], nil
}

func explainDamage(ref string, err error) error {
	if errors.Is(err, errDamaged) {
		return api.Refuse(api.CodeImageDamaged, "the file of snapshot %q is damaged on the agent's disk: remove it (brig snapshot rm), and "+
			"make it again", ref)
	}
	return err
}

// Get describes one snapshot.
func (s *Store) Get(o Owner, ref string) (api.Snapshot, error) {
	one, err := s.find(o, ref)
	return one.Snapshot, err
}

// Open opens one for reading. The caller closes it. What is open stays readable if the snapshot is removed.
func (s *Store) Open(o Owner, ref string) (*os.File, api.Snapshot, error) {
	one, err := s.find(o, ref)
	if err != nil {
		return nil, api.Snapshot{}, err
	}
	f, err := os.OpenFile(one.path, os.O_RDONLY|unix.O_NOFOLLOW, 0)
	if errors.Is(err, fs.ErrNotExist) {
		err = api.Refuse(api.CodeNotFound, "snapshot %q was removed a moment ago", ref)
	}
	return f, one.Snapshot, err
}

// Remove removes one. Sessions that began with it have copies of their own.
func (s *Store) Remove(o Owner, ref string) error {
	one, err := s.find(o, ref)
	path := one.path
	if api.HasCode(err, api.CodeImageDamaged) {
		path, err = filepath.Join(s.dir(o), strings.TrimPrefix(ref, idPrefix)+suffix), nil
	}
	if err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// sweep removes what has expired, and what killed agents have left unfinished. It returns what the others take: all of
// them, and those of one owner with their number. The lock is held.
func (s *Store) sweep(o Owner) (total, own int64, count int, err error) {
	mine := s.dir(o)
	err = filepath.WalkDir(s.Dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		if strings.HasPrefix(d.Name(), newPrefix) {
			return removeUnfinished(path)
		}
		if !strings.HasSuffix(path, suffix) {
			return nil
		}

		one, err := describe(path)
		if errors.Is(err, fs.ErrNotExist) {
			if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			return nil
		}
		if err != nil && !errors.Is(err, errDamaged) {
			return err
		}
		total += one.Stored
		if filepath.Dir(path) == mine {
			own += one.Stored
			count++
		}
		return nil
	})
	return total, own, count, err
}

// removeUnfinished removes a file whose maker was killed: nobody has its lock.
func removeUnfinished(path string) error {
	f, err := linux.LockFile(path, false)
	switch {
	case errors.Is(err, flock.ErrHeld), errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	return errors.Join(os.Remove(path), f.Close())
}
