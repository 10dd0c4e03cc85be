package snapshot

import (
	"context"
	"os"
	"path"

	"github.com/brig-sandbox/brig/api"
)

// Diff tells what differs between two snapshots, in the order of a walk. Files are compared by their content, which a
// program cannot hide as it can a time. older may be nil: then all is new.
func Diff(ctx context.Context, older, newer *os.File, tell func(api.PathChange) error) error {
	d := differ{ctx: ctx, tell: tell, is: side{r: newReader(newer)}}
	if older != nil {
		d.was.r = newReader(older)
	}
	if err := d.was.advance(); err != nil {
		return err
	}
	if err := d.is.advance(); err != nil {
		return err
	}
	return d.level("/")
}

// A side is one of the two, at one entry.
type side struct {
	r   *reader
	rec *record // nil: the directory, or the snapshot, has no further entry
	sum digest  // of the content of a file
}

// advance reads the next entry.
func (s *side) advance() error {
	s.rec = nil
	if s.r == nil {
		return nil
	}
	rec, err := s.r.next()
	if err != nil {
		return err
	}
	switch rec.Kind {
	case kindLeave, kindEnd:
		return nil
	case kindFile:
		s.sum, err = s.r.content(rec.Size, nil)
	}
	s.rec = rec
	return err
}

// A differ goes through both at the same time.
type differ struct {
	ctx     context.Context // of this one comparison
	tell    func(api.PathChange) error
	was, is side
}

// level compares two directories: the entries at which both sides are, and those that follow.
func (d *differ) level(dir string) error {
	for d.was.rec != nil || d.is.rec != nil {
		if err := d.ctx.Err(); err != nil {
			return err
		}
		var err error
		switch order := compareSides(d.was.rec, d.is.rec); {
		case order < 0:
			err = d.one(&d.was, dir, api.PathRemoved)
		case order > 0:
			err = d.one(&d.is, dir, api.PathAdded)
		default:
			err = d.both(dir)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func compareSides(was, is *record) int {
	switch {
	case was == nil:
		return 1
	case is == nil:
		return -1
	}
	return compareRecords(was, is)
}

// one tells of an entry that is on one side alone, and of all that is in it.
func (d *differ) one(s *side, dir string, what api.ChangeKind) error {
	rec, name := s.rec, path.Join(dir, s.rec.Name)
	if err := d.tellOf(rec, dir, what); err != nil {
		return err
	}
	if err := s.advance(); err != nil || rec.Kind != kindDir {
		return err
	}
	for s.rec != nil {
		if err := d.ctx.Err(); err != nil {
			return err
		}
		if err := d.one(s, name, what); err != nil {
			return err
		}
	}
	return s.advance()
}

// both compares two entries of the same name.
func (d *differ) both(dir string) error {
	was, is, name := d.was.rec, d.is.rec, path.Join(dir, d.is.rec.Name)
	if (was.Kind == kindDir) != (is.Kind == kindDir) {
		if err := d.one(&d.was, dir, api.PathRemoved); err != nil {
			return err
		}
		return d.one(&d.is, dir, api.PathAdded)
	}
	if d.differ(was, is) {
		if err := d.tellOf(is, dir, api.PathModified); err != nil {
			return err
		}
	}
	if err := d.advanceBoth(); err != nil || is.Kind != kindDir {
		return err
	}
	if err := d.level(name); err != nil {
		return err
	}
	return d.advanceBoth()
}

func (d *differ) advanceBoth() error {
	if err := d.was.advance(); err != nil {
		return err
	}
	return d.is.advance()
}

func (d *differ) differ(was, is *record) bool {
	return was.Kind != is.Kind || was.Mode != is.Mode || was.Text != is.Text || was.Size != is.Size ||
		is.Kind == kindFile && d.was.sum != d.is.sum
}

func (d *differ) tellOf(rec *record, dir string, what api.ChangeKind) error {
	if dir == "/" {
		return nil // box and tmp themselves
	}
	change := api.PathChange{Change: what, Kind: api.RegularFile, Mode: uint32(rec.Mode), Size: rec.Size}
	switch rec.Kind {
	case kindDir:
		change.Kind = api.Directory
	case kindSymlink:
		change.Kind = api.Symlink
	}
	change.Path, change.Bytes = api.PrintablePath(path.Join(dir, rec.Name))
	return d.tell(change)
}
