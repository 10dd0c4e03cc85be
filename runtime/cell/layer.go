package cell

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/rollback"
	"github.com/brig-sandbox/brig/runtime/linux"
	"github.com/brig-sandbox/brig/runtime/mount"
	"github.com/brig-sandbox/brig/runtime/plan"
)

// mountLayer mounts, at dir, an overlay of the image and an empty tmpfs. The image's files that
// belong to root are shifted to uid 1000 of the cell, so that the program can really write to /etc
// and /usr; nothing that it writes reaches the image.
//
// Overlay works on idmapped layers since Linux 5.19. lowerdir+ with a descriptor is newer, so the
// layers are mounted at paths in our mount namespace. The options name them by our handles of them:
// the program can read the names in its mount table (FS-22).
func (f *Factory) mountLayer(ctx context.Context, c *Cell, p Plan, base int, dir string) (err error) {
	undo := rollback.On(&err)
	defer undo.Run()
	lower, upper := filepath.Join(c.dir, "lower"), filepath.Join(c.dir, "upper")
	for _, d := range []string{lower, upper} {
		if err := os.Mkdir(d, 0o711); err != nil {
			return err
		}
		undo.Add(func() error { return os.Remove(d) })
	}
	if err := f.Step("layer image"); err != nil {
		return err
	}
	tree, err := f.mountTree(ctx, c, p, base, lower)
	if err != nil {
		return err
	}
	defer tree.Close()
	undo.Add(func() error { return unix.Unmount(lower, unix.MNT_DETACH) })

	if err := f.Step("layer top"); err != nil {
		return err
	}
	top, err := mount.NewTmpfs(mount.AttrScratch, [2]string{"size", fmt.Sprint(int64(p.Layer.Size))},
		[2]string{"nr_inodes", fmt.Sprint(p.Layer.Inodes)}, [2]string{"mode", "0755"})
	if err != nil {
		return err
	}
	defer top.Close()
	for _, d := range []string{"upper", "work"} {
		if err := unix.Mkdirat(linux.FD(top), d, 0o755); err != nil {
			return os.NewSyscallError("mkdirat", err)
		}
		if err := unix.Fchownat(linux.FD(top), d, base+plan.UID, base+plan.GID, unix.AT_SYMLINK_NOFOLLOW); err != nil {
			return os.NewSyscallError("fchownat", err)
		}
	}
	if err := mount.MoveMount(top, upper); err != nil {
		return err
	}
	undo.Add(func() error { return unix.Unmount(upper, unix.MNT_DETACH) })

	if err := f.Step("layer overlay"); err != nil {
		return err
	}
	options := fmt.Sprintf("lowerdir=/proc/self/fd/%d,upperdir=/proc/self/fd/%d/upper,workdir=/proc/self/fd/%d/work", linux.FD(tree), linux.FD(top), linux.FD(top))
	if err := unix.Mount("overlay", dir, "overlay", unix.MS_NOSUID|unix.MS_NODEV, options); err != nil {
		if errors.Is(err, unix.ENODEV) || errors.Is(err, unix.EINVAL) {
			return api.Refuse(api.CodeUnsupported, "a writable root needs overlayfs over idmapped mounts (Linux 5.19): %w", err)
		}
		return os.NewSyscallError("mount overlay", err)
	}
	undo.Release()
	return nil
}

// LayerFull reports whether the layer has no byte, or no inode, left to write.
func (c *Cell) LayerFull() (bytes, inodes bool, err error) {
	top, err := os.OpenFile(filepath.Join(c.dir, "upper"), unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return false, false, err
	}
	defer top.Close()
	return mount.Full(top)
}

// unmountLayer unmounts the overlay's parts.
func (c *Cell) unmountLayer() error {
	var err error
	for _, name := range []string{"lower", "upper"} {
		d := filepath.Join(c.dir, name)
		err = errors.Join(err, unix.Unmount(d, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW), os.Remove(d))
	}
	return err
}
