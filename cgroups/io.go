package cgroups

import (
	"fmt"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// EnableIO enables the io controller for the tree, so that SetDiskRate works in groups that are made
// from now on. On version 1 it refuses: there the controller (blkio) does not bound writes that go
// through the page cache, which are nearly all.
func (t *Tree) EnableIO() error {
	if !t.layout.Unified {
		return &UnsupportedError{Feature: "a rate of disk reads and writes (io.max)",
			Since: fmt.Sprintf("control groups v2 with the io controller, and this host's mode is %s", t.host.Mode)}
	}

	t.io = true
	own := filepath.Join(t.parent, t.name)
	for _, dir := range []string{t.parent, own} {
		if err := t.enable(dir); err != nil {
			return err
		}
	}

	if !exists(filepath.Join(own, "io.max")) {
		return &UnsupportedError{Feature: "io.max", Since: "CONFIG_BLK_DEV_THROTTLING"}
	}
	return nil
}

// SetDiskRate bounds what the processes of the branch read from a block device, and what they write
// to it, each in bytes a second; zero removes the bound. Writes through the page cache count for the
// group that made the pages dirty (cgroup-v2.rst, "Writeback").
func (b *Branch) SetDiskRate(device uint64, rate int64) error {
	return b.write(diskRate(device, rate))
}

func diskRate(device uint64, rate int64) Write {
	maximum := limit(rate, "max")
	return Write{"io.max", fmt.Sprintf("%d:%d rbps=%s wbps=%s", unix.Major(device), unix.Minor(device), maximum, maximum)}
}
