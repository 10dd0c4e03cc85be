package runtime

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/rootfs"
)

// copies reports whether the cell's root is a copy of the image: then it shares no page, directory
// entry or inode with a run of another cell (H7; TestExclusiveRunsShareNothing,
// TestHostileChannelsOfAnImage).
func (p cellPlan) copies() bool { return p.key.Mode == api.Exclusive }

// copySize is the most memory that the copy takes: the files in whole pages, and what the kernel
// keeps for each entry, some 1.2 KiB in a tmpfs. It is reserved together with the run's own memory.
func (p cellPlan) copySize() api.Size {
	if !p.copies() {
		return 0
	}
	return p.copyBytes() + api.Size(p.image.Entries)*3*api.KiB/2
}

// copyBytes is the most that the copy's files take.
func (p cellPlan) copyBytes() api.Size {
	return api.Size(p.image.Size) + rootfs.AccountBytes + api.Size(p.image.Entries+1)*4*api.KiB
}

// reservedFor describes the memory that is reserved for a run in such a cell.
func (p cellPlan) reservedFor() string {
	if p.copies() {
		return "limit memory with swap, the compiled program, the kernel's tables for pids times open_files and the copy of the image that mode exclusive makes"
	}
	return "limit memory with swap, the compiled program and the kernel's tables for pids times open_files"
}

// mountCopy mounts at dir a tmpfs with a copy of the image's files, owned by ids of the slot's
// range, and returns a handle of it. A child makes the copy, in the agent's group, so that the run
// is not charged for it. The kernel frees the copy with its last mount.
func (h *Host) mountCopy(ctx context.Context, c *cell, p cellPlan, base int, dir string) (_ *os.File, err error) {
	if err := h.step("copy image"); err != nil {
		return nil, err
	}
	tree, err := c.imageLock.lock.Tree()
	if err != nil {
		return nil, err
	}
	defer tree.Close()
	// A tmpfs counts each name as an inode. While the copy is made, a file with several names has
	// one more (imagefiles/copy.c).
	options := [][2]string{{"size", strconv.FormatInt(int64(p.copyBytes()), 10)}, {"nr_inodes", strconv.FormatInt(p.image.Entries+p.image.Entries/2+16, 10)}, {"mode", "0755"}}
	// Large pages are faster to fill and to free (docs/adr/0018). Kernels without them do not know
	// the option.
	top, err := newTmpfs(attrScratch, append(options, [2]string{"huge", "within_size"})...)
	if errors.Is(err, unix.EINVAL) {
		top, err = newTmpfs(attrScratch, options...)
	}
	if err != nil {
		return nil, err
	}
	undo := undoing(&err)
	defer undo.run()
	undo.add(top.Close)
	if err := h.fillCopy(ctx, tree, top, base, p.layer != nil); err != nil {
		return nil, fmt.Errorf("copy image %s: %w", p.image.Digest, err)
	}
	if !ablated(offReadOnly) {
		set := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY, Propagation: unix.MS_PRIVATE}
		if err := unix.MountSetattr(fd(top), "", unix.AT_EMPTY_PATH, &set); err != nil {
			return nil, os.NewSyscallError("mount_setattr", err)
		}
	}
	if err := h.step("copy mount"); err != nil {
		return nil, err
	}
	if err := moveMount(top, dir); err != nil {
		return nil, err
	}
	undo.release()
	return top, nil
}

// fillCopy has a child copy tree into top. With exchanged, the owners root and run are exchanged,
// as forLayer does.
func (h *Host) fillCopy(ctx context.Context, tree, top *os.File, base int, exchanged bool) (err error) {
	child, err := h.startImageChild("copy", tree, top)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, child.Close()) }()
	w := imageMessage{Kind: imageGrant, A: uint64(base)}
	if exchanged {
		w.B = UID
	}
	if err := child.send(w); err != nil {
		return err
	}
	_, err = child.receive(ctx, imageCopied)
	return err
}
