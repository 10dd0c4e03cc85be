package cgroups

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/containerd/cgroups/v3"
	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"
)

// Probe detects what the kernel offers. It changes nothing.
func Probe() (*Host, error) {
	var h Host
	switch cgroups.Mode() {
	case cgroups.Unified:
		h.Mode = V2
	case cgroups.Hybrid:
		h.Mode = Hybrid
	case cgroups.Legacy:
		h.Mode = V1
	default:
		return nil, errors.New("probe cgroups: nothing is mounted at /sys/fs/cgroup: mount -t cgroup2 none /sys/fs/cgroup")
	}

	own, unified, err := cgroups.ParseCgroupFileUnified("/proc/self/cgroup")
	if err != nil {
		return nil, fmt.Errorf("probe cgroups: %w", err)
	}

	mounts, err := mountinfo.GetMounts(mountinfo.FSTypeFilter("cgroup", "cgroup2"))
	if err != nil {
		return nil, fmt.Errorf("probe cgroups: %w", err)
	}

	h.Hierarchies = locate(mounts, own, unified)
	for i := range h.Hierarchies {
		if err := h.Hierarchies[i].detect(); err != nil {
			return nil, fmt.Errorf("probe cgroups: %w", err)
		}
	}

	swaps, err := os.ReadFile("/proc/swaps")
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // absent without CONFIG_SWAP
		return nil, fmt.Errorf("probe cgroups: %w", err)
	}

	h.SwapOn = bytes.Count(swaps, []byte("\n")) > 1 // the first line is a heading
	h.Features = h.features("")
	return &h, nil
}

// detect fills in the fields that are known only from the mounted files.
func (hy *Hierarchy) detect() error {
	var st unix.Statfs_t
	if err := unix.Statfs(hy.Own, &st); err != nil {
		return fmt.Errorf("look at own group %s: %w", hy.Own, err)
	}
	if err := hy.checkVisible(int64(st.Type)); err != nil {
		return err
	}
	if !hy.Unified {
		hy.Root = exists(filepath.Join(hy.Own, "release_agent")) // only at the root of a version 1 hierarchy
		return nil
	}

	// cgroup.type exists in every group but the root (cgroup-v2.rst, "Core
	// Interface Files"); a cgroup namespace may call another group "/".
	hy.Root = !exists(filepath.Join(hy.Own, "cgroup.type"))
	b, err := os.ReadFile(filepath.Join(hy.Own, "cgroup.controllers"))
	if err != nil {
		return err
	}

	hy.Controllers = strings.Fields(string(b))
	return nil
}

// checkVisible refuses a hierarchy whose mount is covered by another file system. A directory
// made there for a group is an ordinary directory, and writes to its files limit
// nothing (MEM-17, TestHostileMissingController). kind is statfs's f_type.
func (hy *Hierarchy) checkVisible(kind int64) error {
	want, name := int64(unix.CGROUP_SUPER_MAGIC), strings.Join(hy.Controllers, ",")
	if hy.Unified {
		want, name = unix.CGROUP2_SUPER_MAGIC, "cgroup2"
	}
	if kind == want {
		return nil
	}
	return fmt.Errorf("cgroup hierarchy %s is hidden: %s is on a file system of type %#x: unmount what covers %s", name,
		hy.Own, kind, hy.Mount)
}

// features looks for the files of each feature in the group sub below Own, or in Own
// itself when sub is empty.
func (h *Host) features(sub string) Features {
	f := Features{Kill: No, Pressure: No}
	if u, ok := h.Unified(); ok {
		f.Kill, f.Pressure = u.has(sub, "cgroup.kill"), u.has(sub, "cgroup.pressure")
	}
	for _, c := range controllers {
		if hy, err := h.Controller(c.name()); err == nil {
			c.probe(hy, sub, &f)
		}
	}
	return f
}

// has reports whether file exists in the group sub below Own. The root group lacks most
// files on every kernel: there the groups below it are checked, and if none has the
// file the state is unknown.
func (hy *Hierarchy) has(sub, file string) State {
	switch {
	case exists(filepath.Join(hy.Own, sub, file)):
		return Yes
	case sub == "" && hy.Root:
		return hy.belowHas(file)
	}
	return No
}

// belowHas is has for the groups directly below Own. It stops at the first group with the file: a host may have
// thousands of groups, and all have the same files.
func (hy *Hierarchy) belowHas(file string) State {
	dir, err := os.Open(hy.Own)
	if err != nil {
		return Unknown
	}
	defer dir.Close()

	for {
		some, err := dir.ReadDir(groupsPerRead)
		for _, e := range some {
			if e.IsDir() && exists(filepath.Join(hy.Own, e.Name(), file)) {
				return Yes
			}
		}
		if err != nil { // io.EOF at the end
			return Unknown
		}
	}
}

// groupsPerRead is how many entries of a group's directory are read at once.
const groupsPerRead = 64

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
