package paths

import (
	"context"
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/runtime/linux"
)

// removeDepth is the most levels of directories that are removed: each holds a descriptor of the agent.
const removeDepth = 64

// MaxOpen is the most descriptors that one operation holds.
const MaxOpen = removeDepth + 4

// removeRounds is how often a directory is read again that programs fill while it is emptied.
const removeRounds = 8

// Remove removes a file, a link itself, or a directory: an empty one, or with recursive everything that is
// in it. It ends when ctx ends; what is removed by then stays so.
func (t *Tree) Remove(ctx context.Context, name string, recursive bool) error {
	return Error(name, t.do(func() error {
		dir, base, err := t.parent(name)
		if err != nil {
			return err
		}
		defer dir.Close()
		return remove(ctx, dir, base, recursive, removeDepth)
	}))
}

func remove(ctx context.Context, parent *os.File, base string, recursive bool, depth int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	err := unix.Unlinkat(linux.FD(parent), base, 0)
	if !errors.Is(err, unix.EISDIR) {
		return err
	}

	for range removeRounds {
		err = unix.Unlinkat(linux.FD(parent), base, unix.AT_REMOVEDIR)
		if !recursive || !errors.Is(err, unix.ENOTEMPTY) && !errors.Is(err, unix.EEXIST) {
			break
		}
		if err := empty(ctx, parent, base, depth); err != nil {
			return err
		}
	}
	return err
}

// empty removes what is in a directory. It follows no link and enters nothing that is mounted.
func empty(ctx context.Context, parent *os.File, base string, depth int) error {
	if depth == 0 {
		return api.Refuse(api.CodeFileConflict,
			"there are more than %d directories in one another: have a program remove them (rm -r)", removeDepth)
	}
	dir, err := linux.OpenBeneath(parent, base, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if errors.Is(err, unix.EXDEV) {
		err = unix.EBUSY
	}
	if err != nil {
		return err
	}
	defer dir.Close()

	for {
		some, rerr := dir.Readdirnames(namesAtOnce)
		for _, n := range some {
			if err := remove(ctx, dir, n, true, depth-1); err != nil && !errors.Is(err, unix.ENOENT) {
				return err
			}
		}
		if errors.Is(rerr, io.EOF) {
			return nil
		}
		if rerr != nil {
			return rerr
		}
	}
}
