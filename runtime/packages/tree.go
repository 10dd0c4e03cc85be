package packages

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/runtime/linux"
	"github.com/brig-sandbox/brig/runtime/plan"
)

// The bounds of one set. Those of the installer's limits are lower, if its manifest sets none.
const (
	maxBytes   = 4 << 30
	maxEntries = 400_000
	maxDepth   = 100
	maxPath    = 3000     // bytes of one name: with the path of the store it must be below PATH_MAX
	maxNames   = 32 << 20 // bytes of all names and targets of links: the agent holds them more than once (PKG-11)
)

// stamp is the time of every file of a set: sets with the same files are then one layer. Zip archives
// know no time before 1980.
var stamp = time.Unix(315_619_200, 0)

// errTree is wrapped by the errors for a tree that cannot be a set.
var errTree = errors.New("what the installer left cannot be stored")

// A treeWriter writes the tree that an installer left as an archive. The installer, and the packages
// that it executed, made every name and file in it. The walk follows no link and leaves the tree by no
// mount (linux.OpenBeneath); it reads only regular files, and takes neither devices, sockets, set-id
// bits nor attributes (PKG-01, PKG-02). All processes that could change the tree have ended. The
// admission child then reads the archive like any other.
type treeWriter struct {
	root    *os.File
	out     *tar.Writer
	bytes   int64
	entries int64
	names   int64
}

// writeTree writes the directory plan.PackagesDir of the installer's /box to w, and links next to it.
func writeTree(box *os.File, links map[string]string, w io.Writer) error {
	t := &treeWriter{root: box, out: tar.NewWriter(w)}
	if err := t.member(plan.PackagesDir, 0); errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("%w: there is no directory /%s", errTree, plan.PackagesDir)
	} else if err != nil {
		return err
	}

	for _, name := range slices.Sorted(maps.Keys(links)) {
		if err := t.header(&tar.Header{Name: name, Typeflag: tar.TypeSymlink, Linkname: links[name],
			Mode: 0o777}); err != nil {
			return err
		}
	}

	return t.out.Close()
}

func (t *treeWriter) header(h *tar.Header) error {
	h.Format, h.ModTime, h.Uid, h.Gid = tar.FormatPAX, stamp, plan.UID, plan.GID
	t.entries++
	t.bytes += h.Size
	switch {
	case t.entries > maxEntries:
		return fmt.Errorf("%w: it has more than %d files", errTree, maxEntries)
	case t.bytes > maxBytes:
		return fmt.Errorf("%w: it has more than %s", errTree, api.Size(maxBytes))
	case strings.HasPrefix(path.Base(h.Name), ".wh."): // it would remove something from the layers below
		return fmt.Errorf("%w: the name %.100q has a meaning in layers of images", errTree, h.Name)
	}
	return t.out.WriteHeader(h)
}

// member writes one name, and what is below it.
func (t *treeWriter) member(name string, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("%w: it has directories more than %d deep", errTree, maxDepth)
	}

	f, err := linux.OpenBeneath(t.root, name, unix.O_PATH|unix.O_NOFOLLOW, 0)
	if err != nil {
		if errors.Is(err, unix.ELOOP) { // a link: some kernels refuse to open it with RESOLVE_NO_SYMLINKS
			return t.link(name)
		}
		return err
	}

	var st unix.Stat_t
	err = unix.Fstat(linux.FD(f), &st)
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("read %.100q: %w", name, err)
	}

	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		return t.directory(name, depth, st)
	case unix.S_IFREG:
		return t.file(name, st)
	case unix.S_IFLNK:
		return t.link(name)
	}

	return nil // a FIFO, a socket: no package has one
}

func (t *treeWriter) directory(name string, depth int, st unix.Stat_t) error {
	if err := t.header(&tar.Header{Name: name + "/", Typeflag: tar.TypeDir, Mode: int64(st.Mode & 0o755)}); err != nil {
		return err
	}

	d, err := linux.OpenBeneath(t.root, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}

	names, err := t.list(name, d)
	if err = errors.Join(err, d.Close()); err != nil {
		return err
	}

	for _, base := range names {
		if err := t.member(name+"/"+base, depth+1); err != nil {
			return err
		}
	}

	return nil
}

// list returns the sorted names in a directory. It counts them while it reads them, before it holds more
// than there may be.
func (t *treeWriter) list(dir string, d *os.File) (names []string, err error) {
	for {
		some, err := d.Readdirnames(1024)
		for _, base := range some {
			if err := t.count(dir + "/" + base); err != nil {
				return nil, err
			}
		}

		names = append(names, some...)
		if errors.Is(err, io.EOF) {
			slices.Sort(names)
			return names, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// count counts a name, or the target of a link, and refuses one that is too long, or one too many.
func (t *treeWriter) count(name string) error {
	t.names += int64(len(name))
	switch {
	case len(name) > maxPath:
		return fmt.Errorf("%w: the path %.100q... has more than %d bytes", errTree, name, maxPath)
	case t.names > maxNames:
		return fmt.Errorf("%w: the names of its files have more than %s together", errTree, api.Size(maxNames))
	}
	return nil
}

func (t *treeWriter) file(name string, st unix.Stat_t) error {
	f, err := linux.OpenBeneath(t.root, name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW|unix.O_NOCTTY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := t.header(&tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: int64(st.Mode & 0o755),
		Size: st.Size}); err != nil {
		return err
	}
	_, err = io.CopyN(t.out, f, st.Size)
	return err
}

func (t *treeWriter) link(name string) error {
	dir, err := linux.OpenBeneath(t.root, path.Dir(name), unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	defer dir.Close()

	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(linux.FD(dir), path.Base(name), buf)
	if err == nil {
		err = t.count(string(buf[:n]))
	}
	if err != nil {
		return fmt.Errorf("read the link %.100q: %w", name, err)
	}
	return t.header(&tar.Header{Name: name, Typeflag: tar.TypeSymlink, Linkname: string(buf[:n]), Mode: 0o777})
}

// listFile is the file in which an installer lists what it has installed: NAME==VERSION, one a line.
const listFile = plan.PackagesDir + "/installed"

// The bounds of the file, and of what is kept of it: each list of sets has it of every set.
const (
	maxListBytes   = 64 << 10
	maxListedBytes = 8 << 10
)

// The agent and each init of a cell would spend milliseconds of their start on it.
var listed = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z0-9@][A-Za-z0-9@/._-]{0,150}==[A-Za-z0-9.+!_-]{1,64}$`)
})

// readList reads the list of an installer. Lines in another form are left out: the list is shown, and
// decides nothing.
func readList(box *os.File) (names []string) {
	f, err := linux.OpenBeneath(box, listFile, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW|unix.O_NOCTTY, 0)
	if err != nil {
		return nil
	}
	defer f.Close()

	text, err := io.ReadAll(io.LimitReader(f, maxListBytes))
	if err != nil {
		return nil
	}

	left := maxListedBytes
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); listed().MatchString(line) && len(line) < left {
			names, left = append(names, line), left-len(line)-1
		}
	}

	return names
}
