package runtime

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
)

// The bounds of a look through /box, whatever the program left in it.
const (
	collectDepth   = 64
	collectEntries = 200_000
	collectSkipped = 256 // reasons reported; the rest is counted in the last one
)

// collectTime is how long a look takes at most, but for the file that is read when it is
// over: a program and its caller can make it long together, and a slot waits (FIO-21).
var collectTime = 5 * time.Second

// A collector gathers the output files of a run whose processes are all dead.
// What it cannot or will not take it skips by name, with the reason.
type collector struct {
	ctx    context.Context // of this one look
	until  time.Time
	box    *os.File
	want   api.Collect
	only   []string // artifacts: nothing else is asked for; nil: what want says
	globs  *globSet // of want
	placed map[string]input

	matched []bool // of each of want's globs, whether a file has such a name
	files   []api.File
	skipped []api.Skipped
	unsaid  int // skipped beyond collectSkipped
	bytes   api.Size
	seen    int
	cut     string // why the rest was not looked at; empty: all was
}

// collect returns the files asked for, in the order of their names. It ends when ctx does,
// with its error.
func collect(ctx context.Context, box *os.File, want api.Collect, only []string, placed map[string]input) ([]api.File, []api.Skipped, error) {
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
		case c.cut != "":
			c.skip(g, "no file that was looked at has such a name")
		default:
			c.skip(g, "no file has such a name")
		}
	}
	if c.unsaid > 0 {
		c.skipped = append(c.skipped, api.Skipped{Name: theRest, Reason: fmt.Sprintf("%d more", c.unsaid)})
	}
	if c.cut != "" { // also when 256 others are skipped
		c.skipped = append(c.skipped, uncollected(c.cut))
	}
	return c.files, c.skipped, nil
}

// theRest is in the place of a name for files that are not named one by one.
const theRest = "..."

// uncollected says that files were not collected and are not known by name.
func uncollected(why string) api.Skipped { return api.Skipped{Name: theRest, Reason: why} }

func (c *collector) skip(name, reason string) {
	if len(c.skipped) == collectSkipped {
		c.unsaid++
		return
	}
	c.skipped = append(c.skipped, api.Skipped{Name: printable(name), Reason: reason})
}

// printable gives a name that a program has made a form that JSON holds.
func printable(name string) string {
	if utf8.ValidString(name) {
		return name
	}
	return fmt.Sprintf("%q", name)
}

// dir looks through one directory. Directories are opened one at a time and
// closed before the next level's contents are read, so depth costs no descriptors.
// The globs have read its name and the / behind it.
func (c *collector) dir(name string, depth int, at globStates) error {
	names, err := c.list(name)
	if err != nil {
		if name == "." {
			return fmt.Errorf("collect: %w", err)
		}
		c.skip(name, reason(err)) // a directory its owner made unreadable to root? moved away: not ours to chase
		return nil
	}
	slices.Sort(names)
	for _, base := range names {
		if err := c.ctx.Err(); err != nil {
			return err
		}
		if c.over() {
			return nil
		}
		if err := c.entry(name, base, depth, at); err != nil {
			return err
		}
	}
	return nil
}

// over counts an entry and reports whether it is one too many, or too late.
func (c *collector) over() bool {
	c.seen++
	switch {
	case c.cut != "":
	case c.seen > collectEntries:
		c.cut = fmt.Sprintf("more than %d entries in /box: the rest was not looked at", collectEntries)
	case time.Now().After(c.until):
		c.cut = fmt.Sprintf("looking through /box took %s: the rest was not looked at; leave fewer files in it", collectTime)
	}
	return c.cut != ""
}

func (c *collector) list(name string) ([]string, error) {
	d, err := openBeneath(c.box, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
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

// entry decides about one name. O_NONBLOCK keeps the open of a FIFO from waiting
// for a writer (FIO-04), O_PATH would not let us read; what was opened is looked
// at, never the name again (FIO-08).
func (c *collector) entry(dir, base string, depth int, at globStates) error {
	name := path.Join(dir, base)
	at = c.globs.after(at, base)
	var st unix.Stat_t
	if err := c.lstat(name, &st); err != nil {
		c.skip(name, reason(err))
		return nil
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		if len(c.want.Globs) == 0 && cachePath(name+"/x") || c.only != nil && !c.leads(name) {
			return nil
		}
		if depth == collectDepth {
			c.skip(name, fmt.Sprintf("deeper than %d directories", collectDepth))
			return nil
		}
		return c.dir(name, depth+1, c.globs.after(at, "/"))
	case unix.S_IFREG:
		if c.wanted(name, at, &st) {
			return c.take(name)
		}
	default:
		if c.asked(name, at) {
			c.skip(name, kindOf(st.Mode))
		}
	}
	return nil
}

// lstat looks at a name below box without following any link.
func (c *collector) lstat(name string, st *unix.Stat_t) error {
	f, err := openBeneath(c.box, name, unix.O_PATH|unix.O_NOFOLLOW, 0)
	if err != nil {
		// RESOLVE_NO_SYMLINKS refuses a final link even with O_NOFOLLOW|O_PATH on
		// some kernels; a link is skipped either way.
		return err
	}
	defer f.Close()
	return unix.Fstat(fd(f), st)
}

// asked reports whether a name is one the caller is interested in.
func (c *collector) asked(name string, at globStates) bool {
	if c.only != nil {
		return slices.ContainsFunc(c.only, func(a string) bool { return within(a, name) })
	}
	if len(c.want.Globs) == 0 {
		return !cachePath(name)
	}
	asked := false
	c.globs.matched(name, at, func(i int) { c.matched[i], asked = true, true })
	return asked
}

// leads reports whether a directory is an artifact, below one, or on the way to one.
func (c *collector) leads(dir string) bool {
	return slices.ContainsFunc(c.only, func(a string) bool { return within(a, dir) || within(dir, a) })
}

// wanted reports whether a regular file is to be returned: by default when it is
// new, or not what was placed.
func (c *collector) wanted(name string, at globStates, st *unix.Stat_t) bool {
	if !c.asked(name, at) {
		return false
	}
	in, was := c.placed[name]
	return len(c.want.Globs) > 0 || c.only != nil || !was || in.stamp != stampOf(st) || !in.made && !c.holds(name, in.content)
}

// holds reports whether a file that looks untouched has the bytes it was placed with.
func (c *collector) holds(name string, content []byte) bool {
	f, err := openBeneath(c.box, name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW|unix.O_NOCTTY, 0)
	if err != nil {
		return false // whoever takes it says why
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
	// A program can make longer names than a caller may send, by changing into a
	// directory before it makes the next. One of them would keep brig run from
	// saving all the others.
	if api.FileName(name) != nil {
		c.skip(strings.ToValidUTF8(name[:64], "")+"...", "path too long")
		return nil
	}
	if len(c.files) == c.want.Files {
		c.skip(name, fmt.Sprintf("more than %d files", c.want.Files))
		return nil
	}
	f, err := openBeneath(c.box, name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW|unix.O_NOCTTY, 0)
	if err != nil {
		c.skip(name, reason(err))
		return nil
	}
	defer f.Close()
	var st unix.Stat_t
	if err := unix.Fstat(fd(f), &st); err != nil {
		return fmt.Errorf("collect %q: %w", name, err)
	}
	room := c.want.Bytes - c.bytes
	switch {
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		c.skip(name, kindOf(st.Mode))
		return nil
	case st.Size > int64(room): // also the sparse giant: its size is read, not its bytes (FIO-05)
		c.skip(name, fmt.Sprintf("it has %s; %s are left of the limit of %s", api.Size(st.Size).About(), api.Size(room).About(), c.want.Bytes.About()))
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

// reason puts the refusal of a lookup in words.
func reason(err error) string {
	switch {
	case errors.Is(err, unix.ELOOP):
		return "symbolic link"
	case errors.Is(err, unix.EXDEV):
		return "leads out of /box"
	case errors.Is(err, unix.ENAMETOOLONG):
		return "path too long"
	case errors.Is(err, unix.ENXIO):
		return "socket"
	}
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}

func kindOf(mode uint32) string {
	switch mode & unix.S_IFMT {
	case unix.S_IFLNK:
		return "symbolic link"
	case unix.S_IFIFO:
		return "FIFO"
	case unix.S_IFSOCK:
		return "socket"
	case unix.S_IFCHR, unix.S_IFBLK:
		return "device"
	case unix.S_IFDIR:
		return "directory"
	}
	return "not a regular file"
}
