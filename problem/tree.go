package problem

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/inputfile"
)

// The bounds of one tree (TestTreesAreBounded).
const (
	MaxFiles   = 100_000
	MaxBytes   = 4 * api.GiB // all files of an archive, unpacked
	MaxArchive = 64 << 20    // an archive within a directory or archive
	maxDepth   = 32          // of directories: a link may lead to the directory that it is in
	maxName    = 1024        // bytes of a name with its directories
)

// A Tree has the files of a directory or an archive by name, with "/" between the parts. Names
// that begin with a dot, and those that systems add by themselves (__MACOSX, Thumbs.db), are not in
// it. A file is read when it is asked for. Nothing outside the directory is ever read: a link that
// leads out of it gives an error (TestLinksLeadNowhereElse).
type Tree struct {
	label string // as the user named it
	files map[string]treeFile
	names []string // sorted
	close func() error
}

type treeFile struct {
	size       int64
	executable bool
	linked     bool   // whether it, or a directory above it, is a link
	broken     string // of a link that leads out of the tree or to nothing: its target; otherwise empty
	read       func(most int64) ([]byte, error)
}

// Open opens a directory, a zip archive, or a tar archive, plain or compressed with gzip or zstd. The
// caller closes the Tree. A tar is unpacked into a file without a name below $TMPDIR.
func Open(name string) (*Tree, error) {
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s: there is no such directory or file", name)
	case err != nil:
		return nil, inputfile.WithoutSyscall(err)
	case info.IsDir():
		return openDir(name)
	}
	f, info, err := inputfile.Open(name)
	if err != nil {
		return nil, err
	}
	return OpenFile(name, f, info.Size())
}

// OpenFile opens the archive in a file of that size, which the Tree closes, also if there is an error. name
// is for messages.
func OpenFile(name string, f *os.File, size int64) (*Tree, error) {
	head := make([]byte, tarMagicAt+len(tarMagic))
	n, err := f.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, errors.Join(inputfile.WithoutSyscall(err), f.Close())
	}
	if isTar(head[:n]) {
		t, err := openTar(name, f)
		return t, errors.Join(err, f.Close())
	}
	t, err := openZip(name, f, size)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	t.close = f.Close
	return t, nil
}

// Close releases the directory or the archive.
func (t *Tree) Close() error { return t.close() }

// Label is the name by which the user named the tree, for messages.
func (t *Tree) Label() string { return t.label }

// Labeled returns the tree under another label. Closing it closes t.
func (t *Tree) Labeled(label string) *Tree {
	other := *t
	other.label = label
	return &other
}

// Names returns the names of all files, sorted.
func (t *Tree) Names() []string { return t.names }

// Has reports whether there is a file of this name.
func (t *Tree) Has(name string) bool { _, ok := t.files[name]; return ok }

// HasDir reports whether there is a file below the directory.
func (t *Tree) HasDir(dir string) bool { return len(t.Below(dir)) > 0 }

// Below returns the names of all files below a directory, sorted; "." is the whole tree.
func (t *Tree) Below(dir string) []string {
	if dir == "." || dir == "" {
		return t.names
	}
	first, _ := slices.BinarySearch(t.names, dir+"/")
	last, _ := slices.BinarySearch(t.names, dir+"0") // "0" follows "/"
	return t.names[first:last]
}

// Children returns the names of the files and directories in a directory, without those below them.
func (t *Tree) Children(dir string) (files, dirs []string) {
	prefix := dir + "/"
	if dir == "." || dir == "" {
		prefix = ""
	}
	for _, name := range t.Below(dir) {
		rest := strings.TrimPrefix(name, prefix)
		sub, _, below := strings.Cut(rest, "/")
		switch {
		case !below:
			files = append(files, name)
		case len(dirs) == 0 || dirs[len(dirs)-1] != prefix+sub:
			dirs = append(dirs, prefix+sub)
		}
	}
	return files, dirs
}

// Size is the size of a file in bytes; zero if there is no such file.
func (t *Tree) Size(name string) int64 { return t.files[name].size }

// Executable reports whether a file has an x bit.
func (t *Tree) Executable(name string) bool { return t.files[name].executable }

// BrokenLinks returns the names of the links that lead out of the tree, or to nothing.
func (t *Tree) BrokenLinks() []string {
	var all []string
	for _, name := range t.names {
		if t.files[name].broken != "" {
			all = append(all, name)
		}
	}
	return all
}

// Linked reports whether a file is a link, or reached through one.
func (t *Tree) Linked(name string) bool { return t.files[name].linked }

// Read reads a file of at most so many bytes. The error is an *inputfile.TooLargeError if it has more.
func (t *Tree) Read(name string, most int64) ([]byte, error) {
	f, ok := t.files[name]
	if !ok {
		return nil, fmt.Errorf("%s: there is no such file", name)
	}
	return f.read(most)
}

// Sub returns the tree of a directory. It is valid as long as t.
func (t *Tree) Sub(dir string) *Tree {
	sub := &Tree{label: t.label + "/" + dir, files: map[string]treeFile{}, close: func() error { return nil }}
	for _, name := range t.Below(dir) {
		short := strings.TrimPrefix(name, dir+"/")
		sub.files[short], sub.names = t.files[name], append(sub.names, short)
	}
	return sub
}

// Only returns the tree of the files that keep accepts. It is valid as long as t.
func (t *Tree) Only(keep func(name string) bool) *Tree {
	some := &Tree{label: t.label, files: map[string]treeFile{}, close: func() error { return nil }}
	for _, name := range t.names {
		if keep(name) {
			some.files[name], some.names = t.files[name], append(some.names, name)
		}
	}
	return some
}

// Unwrapped returns the tree of the one directory that holds everything, as in an archive of a
// directory, or t itself.
func (t *Tree) Unwrapped() *Tree {
	if files, dirs := t.Children("."); len(files) == 0 && len(dirs) == 1 {
		return t.Sub(dirs[0])
	}
	return t
}

// Unpacked returns the tree with the files of an archive in it, of at most so many bytes, in place of the
// archive: as if it were a directory of that name. It is valid as long as t.
func (t *Tree) Unpacked(archive string, most int64) (*Tree, error) {
	content, err := t.Read(archive, most)
	if err != nil {
		return nil, err
	}
	inner, err := OpenZip(archive, content)
	if err != nil {
		return nil, err
	}
	all := &Tree{label: t.label, files: map[string]treeFile{}, close: func() error { return nil }}
	for _, name := range t.names {
		if name == archive {
			continue
		}
		if err := all.add(name, t.files[name]); err != nil {
			return nil, err
		}
	}
	for _, name := range inner.names {
		if err := all.add(path.Join(archive, name), inner.files[name]); err != nil {
			return nil, err
		}
	}
	slices.Sort(all.names)
	return all, nil
}

// add adds a file, unless its name is one that systems add by themselves.
func (t *Tree) add(name string, f treeFile) error {
	switch {
	case Ignored(name):
		return nil
	case !utf8.ValidString(name) || strings.ContainsRune(name, 0):
		return fmt.Errorf("the file name %q is not UTF-8: rename it", name)
	case len(name) > maxName:
		return fmt.Errorf("the name %.80q... has more than %d bytes", name, maxName)
	case t.Has(name):
		return fmt.Errorf("there are two files %q", name)
	case len(t.names) == MaxFiles:
		return fmt.Errorf("there are more than %d files", MaxFiles)
	}
	t.files[name], t.names = f, append(t.names, name)
	return nil
}

// Ignored reports whether a name, or a directory of it, is hidden or was added by a system: no tree has such a
// file.
func Ignored(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		if strings.HasPrefix(part, ".") && strings.Trim(part, ".") != "" || slices.Contains([]string{"__MACOSX", "__pycache__", "Thumbs.db", "desktop.ini"}, part) {
			return true
		}
	}
	return false
}

// openDir lists a directory and those below it. It follows links within it only.
func openDir(name string) (*Tree, error) {
	root, err := os.OpenRoot(name)
	if err != nil {
		return nil, inputfile.WithoutSyscall(err)
	}
	t := &Tree{label: filepath.Clean(name), files: map[string]treeFile{}, close: root.Close}
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
		linked := linked || e.Type()&fs.ModeSymlink != 0
		info, err := root.Stat(name) // follows links, within root only
		switch {
		case err != nil && e.Type()&fs.ModeSymlink != 0:
			target, _ := root.Readlink(name)
			err = t.add(name, treeFile{linked: true, broken: cmp.Or(target, "?"), read: readIn(root, name)})
		case err != nil:
			err = inputfile.WithoutSyscall(err)
		case info.IsDir():
			err = t.list(root, name, linked, depth+1)
		default:
			err = t.add(name, treeFile{linked: linked, size: info.Size(), executable: info.Mode()&0o111 != 0, read: readIn(root, name)})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func readIn(root *os.Root, name string) func(int64) ([]byte, error) {
	return func(most int64) ([]byte, error) { return inputfile.ReadBelow(root, name, most) }
}
