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
	"golang.org/x/sys/unix"
)

// Probe asks the kernel what it offers. It changes nothing.
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
	info, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("probe cgroups: %w", err)
	}
	h.Hierarchies = locate(parseMounts(info), own, unified)
	for i := range h.Hierarchies {
		if err := h.Hierarchies[i].look(); err != nil {
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

// look fills in what only the mounted files can tell.
func (hy *Hierarchy) look() error {
	var st unix.Statfs_t
	if err := unix.Statfs(hy.Own, &st); err != nil {
		return fmt.Errorf("look at own group %s: %w", hy.Own, err)
	}
	if err := hy.shown(int64(st.Type)); err != nil {
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

// shown refuses a hierarchy whose mount another file system covers: there a
// directory made for a group is only a directory, and what is written to its files
// limits nothing (MEM-17, TestHostileMissingController). kind is statfs's f_type.
func (hy *Hierarchy) shown(kind int64) error {
	want, name := int64(unix.CGROUP_SUPER_MAGIC), strings.Join(hy.Controllers, ",")
	if hy.Unified {
		want, name = unix.CGROUP2_SUPER_MAGIC, "cgroup2"
	}
	if kind == want {
		return nil
	}
	return fmt.Errorf("cgroup hierarchy %s is hidden: %s lies on a file system of type %#x: unmount what covers %s", name, hy.Own, kind, hy.Mount)
}

// features looks for the files of each feature in the group below own that sub
// names, or in the own group when sub is empty.
func (h *Host) features(sub string) Features {
	f := Features{Kill: No, Pressure: No}
	u, unified := h.Unified()
	if unified {
		f.Kill, f.Pressure = u.has(sub, "cgroup.kill"), u.has(sub, "cgroup.pressure")
	}
	m, err := h.Controller("memory")
	p, perr := h.Controller("pids")
	if err != nil || perr != nil {
		return f
	}
	f.PidsPeak, f.PidsEvents = p.has(sub, "pids.peak"), p.has(sub, "pids.events")
	if h.Mode != V2 {
		f.Peak, f.PeakReset = m.has(sub, "memory.max_usage_in_bytes"), m.has(sub, "memory.max_usage_in_bytes")
		f.Swap, f.OOMGroup, f.LocalEvents = m.has(sub, "memory.memsw.limit_in_bytes"), No, No
		return f
	}
	f.Peak, f.Swap = m.has(sub, "memory.peak"), m.has(sub, "memory.swap.max")
	f.OOMGroup, f.LocalEvents = m.has(sub, "memory.oom.group"), m.has(sub, "memory.events.local")
	f.PeakReset = f.Peak
	if f.Peak == Yes {
		f.PeakReset = resettable(filepath.Join(m.Own, sub, "memory.peak"))
	}
	return f
}

// has says whether file exists in the group sub below own. The root lacks most
// files whatever the kernel: there any group below it may answer, and if none has
// the file the answer is unknown.
func (hy *Hierarchy) has(sub, file string) State {
	switch {
	case exists(filepath.Join(hy.Own, sub, file)):
		return Yes
	case sub == "" && hy.Root:
		if found, err := filepath.Glob(filepath.Join(hy.Own, "*", file)); err == nil && found != nil {
			return Yes
		}
		return Unknown
	}
	return No
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// resettable asks for the reset of memory.peak, which concerns only the descriptor
// it is asked through.
func resettable(path string) State {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return Unknown // not ours to write to
	}
	defer f.Close()
	if ok, err := canReset(f); err != nil {
		return Unknown
	} else if ok {
		return Yes
	}
	return No
}
