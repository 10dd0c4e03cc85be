package outputs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/runtime/cell"
	"github.com/brig-sandbox/brig/runtime/linux"
)

// The bounds of one scan of /box, whatever the program left in it.
const (
	CollectDepth   = 64
	collectEntries = 200_000
	CollectSkipped = 256 // reasons reported; the rest is counted in the last one
)

// collectTime is how long a scan takes at most, not counting the file that is being read when the
// time is over. A program and its caller can make a scan long together while it occupies a slot
// (FIO-21).
var collectTime = 5 * time.Second

// A collector gathers the output files of a run whose processes have all ended. It reports each
// file that it cannot or does not return by name, with the reason.
type collector struct {
	ctx    context.Context // of this one scan
	until  time.Time
	box    *os.File
	want   api.Collect
	only   []string // artifacts: no other file is requested; nil: want decides
	globs  *globSet // of want
	placed map[string]cell.Input

	matched    []bool // of each of want's globs, whether a file has such a name
	files      []api.File
	skipped    []api.Skipped
	unlisted   int // number skipped beyond CollectSkipped
	bytes      api.Size
	seen       int
	stopReason string // why the scan ended early; empty: it was complete
}

// Collect returns the requested files, ordered by name. When ctx ends, it returns with ctx's error.
func Collect(ctx context.Context, box *os.File, want api.Collect, only []string,
	placed map[string]cell.Input) ([]api.File, []api.Skipped, error) {
	if want.Files == 0 {
		want.Files = api.CollectFiles
	}
	if want.Bytes == 0 {
		want.Bytes = api.CollectBytes
	}

	globs, err := newGlobSet(want.Globs)
	if err != nil {
		return nil, nil, fmt.Errorf("collect: %w", err)
	}

	c := &collector{
		ctx: ctx, until: time.Now().Add(collectTime), box: box, want: want, only: only, globs: globs, placed: placed,
		matched: make([]bool, len(want.Globs)),
	}
	if err := c.dir(".", 0, globs.start); err != nil {
		return nil, nil, err
	}

	for i, g := range want.Globs {
		switch {
		case c.matched[i]:
		case c.stopReason != "":
			c.skip(g, "no scanned file has such a name")
		default:
			c.skip(g, NoSuchFile)
		}
	}

	if c.unlisted > 0 {
		c.skipped = append(c.skipped, api.Skipped{Name: UnnamedFiles, Reason: fmt.Sprintf("%d more", c.unlisted)})
	}
	if c.stopReason != "" { // also when 256 others are skipped
		c.skipped = append(c.skipped, Uncollected(c.stopReason))
	}
	return c.files, c.skipped, nil
}

// NoSuchFile is the reason for a glob that no file matches.
const NoSuchFile = api.NoSuchFile

// UnnamedFiles takes the place of a name for files that are not listed one by one.
const UnnamedFiles = "..."

// Uncollected reports that files were not collected and that their names are not known.
func Uncollected(why string) api.Skipped { return api.Skipped{Name: UnnamedFiles, Reason: why} }

func (c *collector) skip(name, reason string) {
	if len(c.skipped) == CollectSkipped {
		c.unlisted++
		return
	}
	c.skipped = append(c.skipped, api.Skipped{Name: cell.PrintableName(name), Reason: reason})
}

// dir scans one directory. It opens one directory at a time and closes it before it reads the next
// level, so depth costs no descriptors. The globs have read the directory's name and the / after
// it.
func (c *collector) dir(name string, depth int, at globStates) error {
	names, err := c.list(name)
	if err != nil {
		if name == "." {
			return fmt.Errorf("collect: %w", err)
		}
		c.skip(name, cell.LookupReason(err)) // unreadable, or moved away: it is not followed
		return nil
	}

	slices.Sort(names)
	for _, base := range names {
		if err := c.ctx.Err(); err != nil {
			return err
		}
		if c.countEntry() {
			return nil
		}
		if err := c.entry(name, base, depth, at); err != nil {
			return err
		}
	}

	return nil
}

// countEntry counts an entry and reports whether the scan must end: too many entries, or too late.
func (c *collector) countEntry() bool {
	c.seen++
	switch {
	case c.stopReason != "":
	case c.seen > collectEntries:
		c.stopReason = fmt.Sprintf("more than %d entries in /box: the rest was not scanned", collectEntries)
	case time.Now().After(c.until):
		c.stopReason = fmt.Sprintf("scanning /box took %s: the rest was not scanned; leave fewer files in it", collectTime)
	}
	return c.stopReason != ""
}

func (c *collector) list(name string) ([]string, error) {
	d, err := linux.OpenBeneath(c.box, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	names, err := d.Readdirnames(collectEntries + 1)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return names, err
}

// entry handles one name. O_NONBLOCK keeps the open of a FIFO from waiting for a writer (FIO-04);
// O_PATH would not let us read. Checks use the opened file, never the name again (FIO-08).
func (c *collector) entry(dir, base string, depth int, at globStates) error {
	name := path.Join(dir, base)
	at = c.globs.after(at, base)
	var st unix.Stat_t
	if err := c.lstat(name, &st); err != nil {
		c.skip(name, cell.LookupReason(err))
		return nil
	}

	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		if len(c.want.Globs) == 0 && cachePath(name+"/x") || c.only != nil && !c.onPath(name) {
			return nil
		}
		if depth == CollectDepth {
			c.skip(name, fmt.Sprintf("deeper than %d directories", CollectDepth))
			return nil
		}
		return c.dir(name, depth+1, c.globs.after(at, "/"))

	case unix.S_IFREG:
		if c.wanted(name, at, &st) {
			return c.take(name)
		}
	default:
		if len(c.want.Globs) == 0 && st.Mode&unix.S_IFMT == unix.S_IFLNK && c.placed[name].Link {
			return nil // the caller's own
		}
		if c.requested(name, at) {
			c.skip(name, cell.FileKind(st.Mode))
		}
	}

	return nil
}

// lstat returns the status of a name below box without following any link.
func (c *collector) lstat(name string, st *unix.Stat_t) error {
	f, err := linux.OpenBeneath(c.box, name, unix.O_PATH|unix.O_NOFOLLOW, 0)
	if err != nil {
		// RESOLVE_NO_SYMLINKS refuses a final link even with O_NOFOLLOW|O_PATH on
		// some kernels; a link is skipped either way.
		return err
	}
	defer f.Close()
	return unix.Fstat(linux.FD(f), st)
}

// requested reports whether the caller requested a file of this name.
func (c *collector) requested(name string, at globStates) bool {
	if c.only != nil {
		return slices.ContainsFunc(c.only, func(a string) bool { return IsOrBelow(a, name) })
	}
	if len(c.want.Globs) == 0 {
		return !cachePath(name)
	}
	found := false
	c.globs.matched(name, at, func(i int) { c.matched[i], found = true, true })
	return found
}

// onPath reports whether a directory is an artifact, below one, or on the way to one.
func (c *collector) onPath(dir string) bool {
	return slices.ContainsFunc(c.only, func(a string) bool { return IsOrBelow(a, dir) || IsOrBelow(dir, a) })
}

// wanted reports whether a regular file is to be returned: by default when it is new, or differs
// from what was placed.
func (c *collector) wanted(name string, at globStates, st *unix.Stat_t) bool {
	if !c.requested(name, at) {
		return false
	}
	in, was := c.placed[name]
	return len(c.want.Globs) > 0 || c.only != nil || !was || in.Stamp != cell.StampOf(st) ||
		!in.Artifact && !c.hasContent(name, in.Content)
}

// hasContent reports whether a file that looks untouched still has the bytes it was placed with.
func (c *collector) hasContent(name string, content []byte) bool {
	f, err := linux.OpenBeneath(c.box, name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW|unix.O_NOCTTY, 0)
	if err != nil {
		return false // the code that reads it reports why
	}
	defer f.Close()

	part := make([]byte, min(len(content)+1, 64<<10))
	for {
		n, err := f.Read(part)
		if n > len(content) || !bytes.Equal(part[:n], content[:n]) {
			return false
		}
		content = content[n:]
		if err != nil {
			return errors.Is(err, io.EOF) && len(content) == 0
		}
	}
}

func (c *collector) take(name string) error {
	if !utf8.ValidString(name) {
		c.skip(name, "name is not UTF-8")
		return nil
	}

	// By changing into a directory before it makes the next one, a program can make longer names
	// than a caller may send. One of them would keep brig run from saving all the others.
	if api.FileName(name) != nil {
		c.skip(strings.ToValidUTF8(name[:64], "")+"...", "path too long")
		return nil
	}
	if len(c.files) == c.want.Files {
		c.skip(name, fmt.Sprintf("more than %d files", c.want.Files))
		return nil
	}

	f, err := linux.OpenBeneath(c.box, name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW|unix.O_NOCTTY, 0)
	if err != nil {
		c.skip(name, cell.LookupReason(err))
		return nil
	}
	defer f.Close()

	var st unix.Stat_t
	if err := unix.Fstat(linux.FD(f), &st); err != nil {
		return fmt.Errorf("collect %q: %w", name, err)
	}

	room := c.want.Bytes - c.bytes
	switch {
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		c.skip(name, cell.FileKind(st.Mode))
		return nil
	case st.Size > int64(room): // also a huge sparse file: only its size is read, not its bytes (FIO-05)
		c.skip(name, fmt.Sprintf("it has %s; %s are left of the limit of %s", api.Size(st.Size).About(),
			api.Size(room).About(), c.want.Bytes.About()))
		return nil
	}

	content := make([]byte, st.Size)
	n, err := io.ReadFull(f, content)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return fmt.Errorf("collect %q: %w", name, err)
	}

	c.bytes += api.Size(n)
	c.files = append(c.files, api.File{Name: name, Content: content[:n], Executable: st.Mode&0o100 != 0})
	return nil
}

// cachePath reports whether a file belongs to an interpreter's cache, whose files are not collected
// unless requested.
func cachePath(name string) bool {
	for part := range strings.SplitSeq(path.Dir(name), "/") {
		if part == "__pycache__" || part == ".cache" || part == "node_modules" {
			return true
		}
	}
	return false
}

// IsOrBelow reports whether name is the artifact or lies below it.
func IsOrBelow(artifact, name string) bool {
	return name == artifact || strings.HasPrefix(name, artifact+"/")
}
