package problem

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/inputfile"
)

// openDir lists a directory and those below it. It follows links within it only.
func openDir(name string, tolerant bool) (*Tree, error) {
	root, err := os.OpenRoot(name)
	if err != nil {
		return nil, inputfile.WithoutSyscall(err)
	}
	t := &Tree{label: filepath.Clean(name), files: map[string]treeFile{}, tolerant: tolerant, close: root.Close}
	if err := t.list(root, ".", false, 0); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", t.label, err), root.Close())
	}
	slices.Sort(t.names)
	return t, nil
}

func (t *Tree) list(root *os.Root, dir string, linked bool, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("%s is more than %d directories deep: a link may lead to its own directory", dir, maxDepth)
	}

	d, err := root.OpenFile(dir, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NONBLOCK, 0)
	if err != nil {
		return inputfile.WithoutSyscall(err)
	}

	entries, err := d.ReadDir(-1)
	if err := errors.Join(err, d.Close()); err != nil {
		return inputfile.WithoutSyscall(err)
	}

	for _, e := range entries {
		name := path.Join(dir, e.Name())
		if Ignored(name) {
			continue
		}
		if err := t.listEntry(root, name, e, linked, depth); err != nil {
			return err
		}
	}

	return nil
}

// listEntry adds an entry of a directory.
func (t *Tree) listEntry(root *os.Root, name string, e fs.DirEntry, linked bool, depth int) error {
	link := e.Type()&fs.ModeSymlink != 0
	if link && t.tolerant {
		return t.add(name, treeFile{linked: true, read: readIn(root, name)})
	}

	linked = linked || link
	info, err := root.Stat(name) // follows links, within root only
	switch {
	case err != nil && link:
		target, _ := root.Readlink(name)
		return t.add(name, treeFile{linked: true, broken: cmp.Or(target, "?"), read: readIn(root, name)})
	case err != nil:
		return t.refuse(name, inputfile.WithoutSyscall(err))
	case info.IsDir():
		return t.listBelow(root, name, linked, depth)
	}

	return t.add(name, treeFile{linked: linked, size: info.Size(), executable: info.Mode()&0o111 != 0,
		read: readIn(root, name)})
}

// listBelow lists a directory in another one. A tolerant tree has one file in the place of a directory at its top
// that cannot be listed as a whole, or that has more files than a run may have.
func (t *Tree) listBelow(root *os.Root, name string, linked bool, depth int) error {
	files := len(t.names)
	folders := len(t.folders)
	err := errors.Join(t.addFolder(name), t.list(root, name, linked, depth+1))
	if !t.tolerant || depth > 0 {
		return err
	}
	if n := len(t.names) - files; err == nil && n > api.MaxFiles {
		err = fmt.Errorf("it has %d files: the maximum is %d", n, api.MaxFiles)
	}
	if err == nil {
		return nil
	}

	for _, listed := range t.names[files:] {
		delete(t.files, listed)
	}

	t.names = t.names[:files]
	t.folders = t.folders[:folders]
	return t.refuse(name, err)
}

func readIn(root *os.Root, name string) func(int64) ([]byte, error) {
	return func(maximum int64) ([]byte, error) { return inputfile.ReadBelow(root, name, maximum) }
}
