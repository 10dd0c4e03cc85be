package problem

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/inputfile"
)

// Additions are files that are made for a tree. They are in a file without a name below $TMPDIR: together
// they may have more than memory.
type Additions struct {
	to    *Tree
	spool *os.File

	mu    sync.Mutex
	files map[string]treeFile // guarded by mu
	size  int64               // guarded by mu; of all
}

// Additions begins to add files to a tree, which stays as it is. The caller closes what With returns, or
// calls Discard.
func (t *Tree) Additions() (*Additions, error) {
	spool, err := unnamedFile()
	if err != nil {
		return nil, err
	}
	return &Additions{to: t, spool: spool, files: map[string]treeFile{}}, nil
}

// Add adds a file. The bounds of a tree hold for it and all others together (TestAdditionsAreBounded): the
// error is ErrTooLarge.
func (a *Additions) Add(name string, content []byte, executable bool) error {
	if err := api.FileName(name); err != nil {
		return err
	}
	if Ignored(name) {
		return fmt.Errorf("a file %q would not be seen: names that begin with a dot are left out", name)
	}

	a.mu.Lock()
	defer a.mu.Unlock()

	if _, twice := a.files[name]; twice || a.to.Has(name) {
		return fmt.Errorf("there are two files %q", name)
	}

	size := int64(len(content))
	if a.size+size+a.to.total() > int64(MaxBytes) {
		return ErrTooLarge
	}
	if _, err := a.spool.WriteAt(content, a.size); err != nil {
		return fmt.Errorf("write %s into %s: %w", name, os.TempDir(), inputfile.WithoutSyscall(err))
	}

	a.files[name] = treeFile{size: size, executable: executable, read: section(name, a.spool, a.size, size)}
	a.size += size
	return nil
}

// With returns the tree with what was added until now. It is valid as long as the tree to which they were
// added; closing it, or Discard, releases what was added.
func (a *Additions) With() (*Tree, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := &Tree{label: a.to.label, files: maps.Clone(a.to.files), names: slices.Clone(a.to.names), close: a.spool.Close}
	for _, name := range slices.Sorted(maps.Keys(a.files)) {
		if err := all.add(name, a.files[name]); err != nil {
			return nil, err
		}
	}
	return all, all.finish(nil)
}

// Discard releases what was added.
func (a *Additions) Discard() error { return a.spool.Close() }
