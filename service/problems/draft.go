package problems

import (
	"errors"
	"os"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/durable"
)

// A Draft is a package on its way into the store. Until Commit nothing of it is seen.
type Draft struct {
	Archive *os.File // what the caller sends; it has no name
	Out     *os.File // what Read writes

	store       *Store
	owner, name string
	allow       func(own, all Usage, more int64) error
}

// Begin begins to store a package of an owner under a name, which may have one already. allow decides
// whether there is space for it: from what the owner and all owners have in addition to it, and its bytes. The
// caller closes the Draft.
func (s *Store) Begin(owner, name string, allow func(own, all Usage, more int64) error) (*Draft, error) {
	if err := api.ProblemName(name); err != nil {
		return nil, err
	}

	d := &Draft{store: s, owner: owner, name: name, allow: allow}
	if err := d.Reserve(0); err != nil {
		return nil, err
	}

	var err error
	if d.Archive, err = os.CreateTemp(s.dir, "new-"); err == nil {
		err = os.Remove(d.Archive.Name())
	}
	if err == nil {
		d.Out, err = os.CreateTemp(s.dir, "new-")
	}
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// Reserve reserves space for n bytes instead of what the Draft has reserved.
func (d *Draft) Reserve(n int64) error {
	d.store.mu.Lock()
	defer d.store.mu.Unlock()
	own, all := d.store.usage(d)
	if err := d.allow(own, all, n); err != nil {
		return err
	}
	d.store.drafts[d] = n
	return nil
}

// Commit stores what Read wrote. memory is what a run of it has in memory. The package is on the disk
// when Commit returns, whatever happens then.
func (d *Draft) Commit(p Parts, memory int64) (*Stored, error) {
	e := entry{Parts: p, Memory: memory}
	e.About.Name, e.About.Stored = d.name, time.Now().UTC().Format(time.RFC3339)
	if err := appendEntry(d.Out, e); err != nil {
		return nil, err
	}
	if err := d.Out.Sync(); err != nil {
		return nil, err
	}

	e, err := readEntry(d.Out)
	if err != nil {
		return nil, err
	}
	if err := d.Reserve(e.About.Bytes); err != nil {
		return nil, err
	}

	s := d.store
	s.mu.Lock()
	defer s.mu.Unlock()

	if err := os.Rename(d.Out.Name(), s.path(d.owner, d.name)); err != nil {
		return nil, err
	}

	s.add(d.owner, e.About)
	delete(s.drafts, d)
	stored := &Stored{e, d.Out}
	d.Out = nil
	if err := durable.SyncDir(s.dir); err != nil {
		return nil, errors.Join(err, stored.Close())
	}
	return stored, nil
}

// Contents is what Read wrote of the run of the package: the contents of its tests, and their JSON.
func (d *Draft) Contents(p Parts) (contents int64, text []byte, err error) {
	text, err = (&Stored{entry{Parts: p}, d.Out}).part(p.Archive+p.Contents, p.Run)
	return p.Contents, text, err
}

// Close removes what was not committed.
func (d *Draft) Close() error {
	d.store.mu.Lock()
	delete(d.store.drafts, d)
	d.store.mu.Unlock()
	var err error
	if d.Archive != nil {
		err = d.Archive.Close()
	}
	if d.Out != nil {
		err = errors.Join(err, d.Out.Close(), os.Remove(d.Out.Name()))
	}
	return err
}
