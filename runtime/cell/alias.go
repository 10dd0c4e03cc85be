package cell

import (
	"errors"
	"fmt"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/runtime/linux"
	"github.com/brig-sandbox/brig/runtime/mount"
)

// aliasTree makes a tree with nothing but a second name of /box, such as /mnt/data: a link, and the directory above it.
// It lies above the image in an overlay, which merges directories and hides all else that the image has at the same
// names. No name of the image is looked up, so none of its links can lead the agent elsewhere
// (TestWorkdirAlias). owner is the host's id of what is in it.
func aliasTree(alias string, owner int) (_ *os.File, err error) {
	tree, err := mount.NewTmpfs(mount.AttrScratch, [2]string{"size", "4k"}, [2]string{"nr_inodes", "8"}, [2]string{"mode", "0755"})
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("alias %s: %w", alias, err), tree.Close())
		}
	}()

	root, name := linux.FD(tree), strings.TrimPrefix(alias, "/")
	names := []string{name}
	if dir := path.Dir(name); dir != "." {
		if err := unix.Mkdirat(root, dir, 0o755); err != nil {
			return nil, os.NewSyscallError("mkdirat", err)
		}
		if err := unix.Fchmodat(root, dir, 0o755, 0); err != nil { // whatever the umask is
			return nil, os.NewSyscallError("fchmodat", err)
		}
		names = append(names, dir)
	}
	if err := unix.Symlinkat("/box", root, name); err != nil {
		return nil, os.NewSyscallError("symlinkat", err)
	}

	for _, n := range append(names, ".") { // the directories after what is in them: that changes their times
		if err := unix.Fchownat(root, n, owner, owner, unix.AT_SYMLINK_NOFOLLOW); err != nil {
			return nil, os.NewSyscallError("fchownat", err)
		}
		if err := unix.UtimesNanoAt(root, n, make([]unix.Timespec, 2), unix.AT_SYMLINK_NOFOLLOW); err != nil {
			return nil, os.NewSyscallError("utimensat", err)
		}
	}
	return tree, nil
}
