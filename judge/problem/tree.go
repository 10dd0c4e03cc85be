package problem

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

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
	label    string // as the user named it
	files    map[string]treeFile
	names    []string       // of the files, sorted
	folders  []string       // that the directory or the archive lists, in any order; an archive need not list any
	tolerant bool           // see OpenTolerant
	refused  map[string]int // numbers that refused names got which look the same
	close    func() error
}

type treeFile struct {
	size       int64
	executable bool
	linked     bool   // whether it, or a directory above it, is a link
	broken     string // of a link that leads out of the tree or to nothing: its target; otherwise empty
	read       func(maximum int64) ([]byte, error)
}

// Open opens a directory, a zip archive, or a tar archive, plain or compressed with gzip or zstd. The
// caller closes the Tree. A tar is unpacked into a file without a name below $TMPDIR.
func Open(name string) (*Tree, error) { return open(name, false) }

// OpenTolerant is Open for the work of many people, where nothing that one of them hands in may be an error for all.
// What Open would refuse, such as a name that is not UTF-8, a directory that cannot be read, or a member with a
// password, is a file in the Tree whose Read returns the reason. So is a file that is too large to be read
// (MaxArchive). Links are not followed: they are files that are Linked (TestTolerantTrees).
func OpenTolerant(name string) (*Tree, error) { return open(name, true) }

func open(name string, tolerant bool) (*Tree, error) {
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s: there is no such directory or file", name)
	case err != nil:
		return nil, inputfile.WithoutSyscall(err)
	case info.IsDir():
		return openDir(name, tolerant)
	}

	f, info, err := inputfile.Open(name)
	if err != nil {
		return nil, err
	}
	return openFile(name, f, info.Size(), tolerant)
}

// OpenFile opens the archive in a file of that size, which the Tree closes, also if there is an error. name
// is for messages.
func OpenFile(name string, f *os.File, size int64) (*Tree, error) {
	return openFile(name, f, size, false)
}

func openFile(name string, f *os.File, size int64, tolerant bool) (*Tree, error) {
	head := make([]byte, tarMagicAt+len(tarMagic))
	n, err := f.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, errors.Join(inputfile.WithoutSyscall(err), f.Close())
	}
	if isTar(head[:n]) {
		t, err := openTar(name, f, tolerant)
		return t, errors.Join(err, f.Close())
	}

	t, err := openZip(name, f, size, tolerant)
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

// Folders returns the names of the directories in a directory, sorted, also of those without any file, which
// Children leaves out.
func (t *Tree) Folders(dir string) []string {
	_, all := t.Children(dir)
	prefix := dir + "/"
	if dir == "." {
		prefix = ""
	}

	for _, name := range t.folders {
		if rest, below := strings.CutPrefix(name, prefix); below {
			first, _, _ := strings.Cut(rest, "/")
			all = append(all, prefix+first)
		}
	}

	slices.Sort(all)
	return slices.Compact(all)
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
func (t *Tree) Read(name string, maximum int64) ([]byte, error) {
	f, ok := t.files[name]
	if !ok {
		return nil, fmt.Errorf("%s: there is no such file", name)
	}
	return f.read(maximum)
}

// Sub returns the tree of a directory. It is valid as long as t.
func (t *Tree) Sub(dir string) *Tree {
	sub := &Tree{label: t.label + "/" + dir, files: map[string]treeFile{}, close: func() error { return nil }}
	for _, name := range t.Below(dir) {
		short := strings.TrimPrefix(name, dir+"/")
		sub.files[short], sub.names = t.files[name], append(sub.names, short)
	}
	for _, name := range t.folders {
		if short, below := strings.CutPrefix(name, dir+"/"); below {
			sub.folders = append(sub.folders, short)
		}
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
func (t *Tree) Unpacked(archive string, maximum int64) (*Tree, error) {
	content, err := t.Read(archive, maximum)
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
	if Ignored(name) {
		return nil
	}
	if len(t.names) == MaxFiles {
		return fmt.Errorf("there are more than %d files", MaxFiles)
	}
	if err := t.checkName(name); err != nil {
		return t.refuse(name, err)
	}
	t.files[name] = f
	t.names = append(t.names, name)
	return nil
}

// checkName is an error if no file of the tree can have the name.
func (t *Tree) checkName(name string) error {
	switch {
	case !utf8.ValidString(name) || strings.ContainsRune(name, 0):
		return fmt.Errorf("the file name %q is not UTF-8: rename it", name)
	case len(name) > maxName:
		return fmt.Errorf("the name %.80q... has more than %d bytes", name, maxName)
	case t.Has(name):
		return fmt.Errorf("there are two files %q", name)
	}
	return nil
}

// refuse returns err, which is about the file or directory of that name. A tolerant tree has a file in the place of
// it instead, under a similar name, whose Read returns err.
func (t *Tree) refuse(name string, err error) error {
	if !t.tolerant || len(t.names) == MaxFiles {
		return err
	}

	valid := strings.ToValidUTF8(strings.ReplaceAll(name, "\x00", "?"), "?")
	valid = strings.TrimPrefix(path.Clean("/"+valid), "/") // ../ann.py is ann.py
	if len(valid) > maxName {
		valid = strings.ToValidUTF8(valid[:maxName], "")
	}

	unique := cmp.Or(valid, "?")
	for t.Has(unique) {
		if t.refused == nil {
			t.refused = map[string]int{}
		}
		t.refused[valid] = max(t.refused[valid], 1) + 1
		unique = fmt.Sprintf("%s (%d)", valid, t.refused[valid])
	}

	t.files[unique] = treeFile{read: func(int64) ([]byte, error) { return nil, err }}
	t.names = append(t.names, unique)
	return nil
}

// addFolder notes a directory that is listed, or in which an ignored file is.
func (t *Tree) addFolder(name string) error {
	for Ignored(name) {
		name = path.Dir(name)
	}
	switch {
	case name == "." || t.checkName(name) != nil:
		return nil // its files have its name, and what is wrong with it
	case len(t.folders) == MaxFiles:
		return fmt.Errorf("there are more than %d directories", MaxFiles)
	}
	t.folders = append(t.folders, name)
	return nil
}

// HiddenTimeLimit is the file in which packages of DOMjudge have their time limit. Trees have it, although it is
// hidden.
const HiddenTimeLimit = ".timelimit"

// Ignored reports whether a name, or a directory of it, is hidden or was added by a system: no tree has such a
// file.
func Ignored(name string) bool {
	if path.Base(name) == HiddenTimeLimit {
		name = path.Dir(name)
	}
	for part := range strings.SplitSeq(name, "/") {
		if strings.HasPrefix(part, ".") && strings.Trim(part, ".") != "" ||
			slices.Contains([]string{"__MACOSX", "__pycache__", "Thumbs.db", "desktop.ini"}, part) {
			return true
		}
	}
	return false
}
