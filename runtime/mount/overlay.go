package mount

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/runtime/ablate"
	"github.com/brig-sandbox/brig/runtime/linux"
)

// Overlay mounts an overlay of trees, the topmost first, at dir. more are further options. The options
// name the trees by our handles of them: a program can read the names in its mount table (FS-22). A
// page of options has room for some 200 trees; fsconfig would take 256 bytes, and "lowerdir+", which
// takes one tree at a time, needs Linux 6.5.
//
// Overlayfs takes idmapped trees since Linux 5.19.
func Overlay(trees []*os.File, more, dir string, flags uintptr) error {
	var lower []string
	for _, t := range trees {
		lower = append(lower, fmt.Sprintf("/proc/self/fd/%d", linux.FD(t)))
	}

	options := "lowerdir=" + strings.Join(lower, ":") + more
	if len(options) >= os.Getpagesize() {
		return fmt.Errorf("mount overlay: %d trees are too many", len(trees))
	}
	if ablate.Off(ablate.Nosuid) {
		flags &^= unix.MS_NOSUID
	}
	if ablate.Off(ablate.Nodev) {
		flags &^= unix.MS_NODEV
	}
	return os.NewSyscallError("mount overlay", unix.Mount("overlay", dir, "overlay", flags, options))
}

// needAttached is set by a test that takes the way of older kernels.
var needAttached = false

// OverlayClones is Overlay for trees that CloneTree made, which are mounted nowhere. Kernels before
// 6.15 or so refuse such trees (clone_private_mount in fs/namespace.c asked for one of our own mount
// namespace). Then they are mounted at the directory at, which is made and removed, until the overlay
// has its own copies of the mounts.
func OverlayClones(clones []*os.File, more, dir, at string, flags uintptr) (err error) {
	if !needAttached {
		if err := Overlay(clones, more, dir, flags); !errors.Is(err, unix.EINVAL) {
			return err
		}
	}

	// They are mounted below a mount of at, one upon the other: the handles keep them apart, and one
	// call unmounts them all. Each such call waits until no processor uses a mount any more.
	inner := filepath.Join(at, "trees")
	for _, dir := range []string{at, inner} {
		if err := os.Mkdir(dir, 0o711); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.Remove(dir)) }()
	}

	if err := unix.Mount(at, at, "", unix.MS_BIND, ""); err != nil {
		return os.NewSyscallError("mount", err)
	}
	defer func() {
		err = errors.Join(err, os.NewSyscallError("umount2", unix.Unmount(at, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW)))
	}()

	for _, c := range clones {
		if err := MoveMount(c, inner); err != nil {
			return err
		}
	}

	return Overlay(clones, more, dir, flags)
}
