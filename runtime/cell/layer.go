package cell

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/internal/rollback"
	"github.com/brig-sandbox/brig/runtime/linux"
	"github.com/brig-sandbox/brig/runtime/mount"
	"github.com/brig-sandbox/brig/runtime/plan"
)

// mountLayer mounts, at dir, an overlay of the image and an empty tmpfs. The image's files that
// belong to root are shifted to uid 1000 of the cell, so that the program can really write to /etc
// and /usr; nothing that it writes reaches the image.
func (f *Factory) mountLayer(ctx context.Context, c *Cell, p Plan, base int, dir string) (err error) {
	undo := rollback.On(&err)
	defer undo.Run()

	upper := filepath.Join(c.dir, "upper")
	if err := os.Mkdir(upper, 0o711); err != nil {
		return err
	}

	undo.Add(func() error { return os.Remove(upper) })
	if err := f.Step("layer image"); err != nil {
		return err
	}

	lowers, err := f.lowerTrees(ctx, c, p, base, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeAll(lowers)) }()

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

	// What a program can write to the upper directory are names and files. Overlayfs keeps what it knows of them in
	// attributes, which no program can set; these options leave out the kinds that name places of other layers,
	// whatever the kernel's defaults are (OWN-08).
	more := fmt.Sprintf(",redirect_dir=nofollow,metacopy=off,index=off,upperdir=/proc/self/fd/%d/upper,workdir=/proc/self/fd/%d/work", linux.FD(top), linux.FD(top))
	if err := overlayError(mount.OverlayClones(lowers, more, dir, c.lower(), unix.MS_NOSUID|unix.MS_NODEV)); err != nil {
		return err
	}

	undo.Release()
	return nil
}

// LayerFull reports whether the layer has no byte, or no inode, left to write.
func (c *Cell) LayerFull() (bytes, inodes bool, err error) {
	top, err := c.openLayer()
	if err != nil {
		return false, false, err
	}
	defer top.Close()
	return mount.Full(top)
}

// LayerUsed returns the bytes of the files in the layer.
func (c *Cell) LayerUsed() (int64, error) {
	top, err := c.openLayer()
	if err != nil {
		return 0, err
	}
	defer top.Close()
	var st unix.Statfs_t
	if err := unix.Fstatfs(linux.FD(top), &st); err != nil {
		return 0, os.NewSyscallError("fstatfs", err)
	}
	return int64(st.Blocks-st.Bfree) * st.Bsize, nil
}

func (c *Cell) openLayer() (*os.File, error) {
	return os.OpenFile(filepath.Join(c.dir, "upper"), unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
}

// unmountLayer unmounts the throw-away layer.
func (c *Cell) unmountLayer() error {
	upper := filepath.Join(c.dir, "upper")
	return errors.Join(unix.Unmount(upper, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW), os.Remove(upper))
}

// lower is where the image's trees are mounted while an overlay of them is made, if the kernel needs
// that.
func (c *Cell) lower() string { return filepath.Join(c.dir, "lower") }
