package image

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/internal/rollback"
	"github.com/brig-sandbox/brig/runtime/ablate"
	"github.com/brig-sandbox/brig/runtime/linux"
	"github.com/brig-sandbox/brig/runtime/mount"
	"github.com/brig-sandbox/brig/runtime/plan"
)

// MountCopy mounts at dir a tmpfs with a copy of the image's files, owned by ids of the slot's
// range, and returns a handle of it. A child makes the copy, in the agent's group, so that the run
// is not charged for it. The kernel frees the copy with its last mount.
func (i *Images) MountCopy(ctx context.Context, lock *Lock, p plan.Cell, base int, dir string) (_ *os.File, err error) {
	if err := i.step("copy image"); err != nil {
		return nil, err
	}

	tree, err := lock.merged(dir)
	if err != nil {
		return nil, err
	}
	defer tree.Close()

	// A tmpfs counts each name as an inode. While the copy is made, a file with several names has
	// one more (imagefiles/copy.c).
	options := [][2]string{{"size", strconv.FormatInt(int64(p.CopyBytes()), 10)},
		{"nr_inodes", strconv.FormatInt(p.Image.Entries+p.Image.Entries/2+16, 10)}, {"mode", "0755"}}

	// Large pages are faster to fill and to free (docs/adr/0018). Kernels without them do not know
	// the option.
	top, err := mount.NewTmpfs(mount.AttrScratch, append(options, [2]string{"huge", "within_size"})...)
	if errors.Is(err, unix.EINVAL) {
		top, err = mount.NewTmpfs(mount.AttrScratch, options...)
	}
	if err != nil {
		return nil, err
	}

	undo := rollback.On(&err)
	defer undo.Run()

	undo.Add(top.Close)
	if err := i.fillCopy(ctx, tree, top, base, p.Layer != nil); err != nil {
		return nil, fmt.Errorf("copy image %s: %w", p.Image.Digest, err)
	}
	if !ablate.Off(ablate.ReadOnly) {
		set := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY, Propagation: unix.MS_PRIVATE}
		if err := unix.MountSetattr(linux.FD(top), "", unix.AT_EMPTY_PATH, &set); err != nil {
			return nil, os.NewSyscallError("mount_setattr", err)
		}
	}
	if err := i.step("copy mount"); err != nil {
		return nil, err
	}
	if err := mount.MoveMount(top, dir); err != nil {
		return nil, err
	}

	undo.Release()
	return top, nil
}

// fillCopy has a child copy tree into top. With exchanged, the owners root and run are exchanged,
// as forLayer does.
func (i *Images) fillCopy(ctx context.Context, tree, top *os.File, base int, exchanged bool) (err error) {
	child, err := i.startChild("copy", tree, top)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, child.Close()) }()

	w := imageMessage{Kind: imageGrant, A: uint64(base)}
	if exchanged {
		w.B = plan.UID
	}
	if err := child.send(w); err != nil {
		return err
	}

	_, err = child.receive(ctx, imageCopied)
	return err
}

// merged opens the image as one tree. dir is a directory at which nothing is mounted; afterwards
// nothing is again.
func (l *Lock) merged(dir string) (_ *os.File, err error) {
	trees, err := l.Trees()
	if err != nil {
		return nil, err
	}
	if len(trees) == 1 {
		return trees[0], nil
	}
	defer func() {
		for _, t := range trees {
			err = errors.Join(err, t.Close())
		}
	}()

	if err := mount.Overlay(trees, "", dir, unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV); err != nil {
		return nil, err
	}

	tree, err := os.OpenFile(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if uerr := unix.Unmount(dir, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW); uerr != nil {
		err = errors.Join(err, os.NewSyscallError("umount2", uerr))
	}
	return tree, err
}
