package paths

import (
	"container/heap"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/runtime/linux"
)

// Bounds of a list apart from its entries: the bytes of all paths and targets as JSON, and the
// directories that are named because they could not be read. Programs choose the names (PTH-09).
const (
	listBytes   = 1 << 20
	listSkipped = 256
)

// List lists what is below a directory. The zero value of the listing must have been replaced by its
// defaults. It ends when ctx ends.
func (t *Tree) List(ctx context.Context, name string, l api.PathListing) (api.PathList, error) {
	w := walk{tree: t, ctx: ctx, left: l.Limit, last: l.After, list: api.PathList{Entries: []api.PathStatus{}}}
	var after []string
	if l.After != "" {
		rest := strings.TrimPrefix(l.After, strings.TrimSuffix(name, "/")+"/")
		after = strings.Split(rest, "/")
	}

	err := t.do(func() error {
		f, err := t.lookup(name, 0)
		if err != nil {
			return err
		}
		defer f.Close()

		st, err := fstat(f)
		if err != nil {
			return err
		}
		if st.Mode&unix.S_IFMT != unix.S_IFDIR {
			return wrongKind(name, st.Mode, "directory")
		}
		dir, err := reopen(f, unix.O_RDONLY|unix.O_DIRECTORY)
		if err != nil {
			return err
		}
		return w.dir(dir, name, l.Depth, after)
	})
	if errors.Is(err, errStop) {
		err = nil
	}
	return w.list, Error(name, err)
}

// errStop ends a walk.
var errStop = errors.New("the walk ends here")

// A walk goes through a tree that changes meanwhile, each directory in the order of its names. It
// reports what it sees.
type walk struct {
	tree  *Tree
	ctx   context.Context // of this one list
	list  api.PathList
	left  int    // entries that may be added
	held  int    // names that directories on the way down hold
	bytes int    // of what was added, as JSON
	last  string // path of the last entry
}

// dir adds the entries of a directory, depth levels of them. after are the parts of the path of the last
// entry of the list before: what is not behind it is left out. It closes the directory. If the list
// is full the error is errStop; other errors are of this directory, or the end of the context.
func (w *walk) dir(dir *os.File, name string, depth int, after []string) error {
	defer dir.Close()

	from := ""
	if len(after) > 0 {
		from = after[0]
	}

	// The one of the list before, and one more than can be added: then it is known that there is more. With
	// two names each level makes progress, whatever those above hold.
	names, truncated, err := smallest(w.ctx, dir, from, max(2, min(w.left+2, api.PathListMax-w.held)))
	if err != nil {
		return err
	}
	w.held += len(names)
	defer func() { w.held -= len(names) }()

	for _, base := range names {
		if err := w.ctx.Err(); err != nil {
			return err
		}
		var below []string
		if base == from {
			below = after[1:]
		}
		if err := w.entry(dir, path.Join(name, base), base, depth, base == from, below); err != nil {
			return err
		}
	}

	if truncated {
		return w.full()
	}
	return nil
}

// full ends the walk, and says where the next list begins.
func (w *walk) full() error {
	w.list.Next = api.Cursor(w.last)
	return errStop
}

// entry adds one entry, and what is below it. One that was in the list before is not added again.
func (w *walk) entry(dir *os.File, name, base string, depth int, added bool, below []string) error {
	var st unix.Stat_t
	if err := unix.Fstatat(linux.FD(dir), base, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		w.last = name
		return nil // it is gone
	}
	if len(name) > api.MaxPath {
		return nil // no caller could name it
	}

	if !added {
		if w.left == 0 || w.bytes >= listBytes {
			return w.full()
		}
		s := w.tree.status(name, &st)
		if s.Kind == api.Symlink {
			s.Target, _ = linkTarget(dir, base) // empty if it was replaced meanwhile
		}
		w.list.Entries = append(w.list.Entries, s)
		w.left--
		w.bytes += quotedSize(s.Path) + len(s.Bytes)*4/3 + quotedSize(s.Target)
	}
	w.last = name

	if st.Mode&unix.S_IFMT != unix.S_IFDIR || depth <= 1 {
		return nil
	}
	err := w.below(dir, name, base, depth-1, below)
	if err == nil || errors.Is(err, errStop) || w.ctx.Err() != nil {
		return err
	}
	return w.skip(name, err)
}

func (w *walk) below(dir *os.File, name, base string, depth int, after []string) error {
	d, err := linux.OpenChild(dir, base, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NONBLOCK)
	if err != nil {
		return err
	}
	if err := checkFileSystem(d); err != nil {
		return errors.Join(err, d.Close())
	}
	return w.dir(d, name, depth, after)
}

// skip reports a directory that cannot be read. One that is no directory any more, or is gone, is not
// reported.
func (w *walk) skip(name string, err error) error {
	reason := ""
	switch {
	case errors.Is(err, errKernelFile):
		reason = "files of the kernel"
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		reason = "the programs of the session may not read it"
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ELOOP):
		return nil
	default:
		return err
	}

	if len(w.list.Skipped) == listSkipped {
		return nil
	}
	text, _ := api.PrintablePath(name)
	w.bytes += quotedSize(text)
	w.list.Skipped = append(w.list.Skipped, api.Skipped{Name: text, Reason: reason})
	return nil
}

// namesAtOnce is how many names are read from a directory before the end of the request is looked for.
const namesAtOnce = 512

// smallest reads a directory and returns the first names of its order from one on, sorted, at most so
// many, and whether there are more. It holds no more names than it returns, however many there are.
func smallest(ctx context.Context, dir *os.File, from string, most int) (names []string, more bool, err error) {
	var kept largestFirst
	for {
		if err := ctx.Err(); err != nil {
			return nil, false, err
		}
		some, err := dir.Readdirnames(namesAtOnce)
		for _, n := range some {
			switch {
			case n < from:
			case len(kept) < most:
				heap.Push(&kept, n)
			default:
				more = true
				if most > 0 && n < kept[0] {
					kept[0] = n
					heap.Fix(&kept, 0)
				}
			}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, false, err
		}
	}
	slices.Sort(kept)
	return kept, more, nil
}

// largestFirst is a heap of names.
type largestFirst []string

func (h largestFirst) Len() int           { return len(h) }
func (h largestFirst) Less(i, j int) bool { return h[i] > h[j] }
func (h largestFirst) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *largestFirst) Push(x any)        { *h = append(*h, x.(string)) }
func (h *largestFirst) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}

// quotedSize is the number of bytes that a text takes in JSON.
func quotedSize(text string) int {
	quoted, _ := json.Marshal(text) // does not fail for a string
	return len(quoted)
}
