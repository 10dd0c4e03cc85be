package cgroups

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// A Leaf is the group of one run at a time. It opens the files that every run needs when
// it is made. Close and Remove close them, and Quiesce closes most of them. A Leaf is not
// safe for concurrent use, with two exceptions: CPUTime and Current may run concurrently
// with every method that closes no files.
type Leaf struct {
	cell *Cell
	name string // below the cell
	kind kind

	dir  *os.File          // on cgroup2; nil in mode v1
	ctl  map[string]string // path of each control file, by kernel name; a file is only open while it is written, which is rare
	kill *os.File          // cgroup.kill; it is open because a kill must work when no descriptor is free; nil: the kernel has none
	join []*os.File        // the tasks files of version 1
	stats
	oom     *os.File    // eventfd or memory.events.local
	oomFD   int         // the eventfd, kept separately so that draining it never blocks; -1 on v2
	resting []**os.File // of these files, those that are closed as long as nothing needs them

	limits     Limits   // in force
	begun      int      // runs so far
	unreliable bool     // a write or a read failed, or the group was killed: the leaf is not Reusable
	begin      counters // at the last Begin
}

// build makes the leaf's group in each hierarchy and opens its files.
func (l *Leaf) build() error {
	t := l.cell.tree
	if err := t.mkdir(filepath.Join(l.cell.name, l.name)); err != nil {
		return err
	}

	for _, hy := range t.roots {
		if err := l.open(hy); err != nil {
			return err
		}
	}

	if l.kind == isBranch {
		return l.enable()
	}
	if err := l.cell.chownProcs(l.name); err != nil {
		return err
	}

	for _, w := range Setup(t.layout) {
		if err := l.write(w); err != nil && !errors.Is(err, ErrUnsupported) { // if the kernel does not have the file, there is nothing to set
			return err
		}
	}

	return l.armOOM()
}

// open opens the leaf's files in one hierarchy.
func (l *Leaf) open(hy Hierarchy) error {
	dir, err := openDir(filepath.Join(l.cell.dir(hy), l.name))
	if err != nil {
		return err
	}

	switch {
	case hy.Unified:
		l.dir = dir
	case l.kind == isBranch: // no process joins the branch itself
		defer dir.Close()
	default:
		defer dir.Close()
		f, err := openIn(dir, "tasks", unix.O_WRONLY)
		if err != nil {
			return err
		}
		l.join = append(l.join, f)
	}

	files := controls(l.cell.tree.layout, hy)
	if l.cell.tree.io && hy.Unified && l.kind == isBranch {
		files = append(files, "io.max")
	}

	for _, name := range files {
		if err := l.control(dir, name); err != nil {
			return err
		}
	}

	if hy.Unified {
		var err error
		if l.kill, err = openMaybe(dir, "cgroup.kill", unix.O_WRONLY); err != nil {
			return err
		}
	}
	if l.kind != onBranch {
		if err := l.openWeight(hy); err != nil {
			return err
		}
	}

	return l.stats.open(dir, hy, l.cell.tree.layout.Unified)
}

// control records the path of a control file, if this kernel has the file.
func (l *Leaf) control(dir *os.File, name string) error {
	err := unix.Faccessat(int(dir.Fd()), name, unix.F_OK, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("look for %s/%s: %w", dir.Name(), name, err)
	}
	l.ctl[name] = filepath.Join(dir.Name(), name)
	return nil
}

// controls lists the files a leaf writes to in a hierarchy.
func controls(at Layout, hy Hierarchy) []string {
	var files []string
	if hy.Unified {
		files = append(files, "cgroup.pressure")
	}
	for _, c := range controllers {
		if hy.Unified && at.Unified || !hy.Unified && slices.Contains(hy.Controllers, c.name()) {
			files = append(files, c.controls(hy.Unified)...)
		}
	}
	return files
}

// Setup lists the writes that a new leaf gets once. The kernel does not account pressure, which
// takes time at every level (cgroup.pressure exists since Linux 6.1).
func Setup(at Layout) []Write {
	w := []Write{{"cgroup.pressure", "0"}}
	for _, c := range controllers {
		w = append(w, c.setup(at)...)
	}
	return w
}

// Apply puts limits in force. It writes only what differs from the limits of the
// previous run. After an error the leaf is no longer Reusable.
//
// Page cache above the new memory limit is reclaimed. If there is memory that cannot be
// reclaimed, such as the files of a tmpfs that is still mounted, version 1 returns EBUSY,
// while v2 accepts the limit and kills the next process. So free what a run has left
// before you use its leaf again, and see MemoryBase.
//
// The weight is set on the cell, so only one leaf of a cell may have a run at a time. For
// a leaf of a branch Apply ignores want.Weight: all leaves share the branch's weight.
func (l *Leaf) Apply(want Limits) error {
	old := l.limits
	if l.kind == onBranch {
		want.Weight = 0
	} else {
		old.Weight = l.cell.weight
	}

	for _, w := range Plan(l.cell.tree.layout, old, want) {
		if err := l.write(w); err != nil {
			l.unreliable = true
			return fmt.Errorf("apply limits to %s: %w", l.name, err)
		}
	}

	l.limits = want
	if l.kind != onBranch {
		l.cell.weight = want.Weight
	}
	return nil
}

func (l *Leaf) write(w Write) error {
	path, ok := l.ctl[w.File]
	if !ok {
		return &UnsupportedError{Feature: w.File, Since: since(w.File)}
	}

	f, err := os.OpenFile(path, unix.O_WRONLY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	defer f.Close()

	if w.Value == "" {
		return clearCpuset(f, path)
	}
	return put(f, w.Value)
}

// since says which kernel version or controller has a control file.
func since(file string) string {
	owner, _, _ := strings.Cut(file, ".")
	switch {
	case file == "cgroup.pressure":
		return "Linux 6.1"
	case slices.ContainsFunc(controllers, func(c controller) bool { return c.name() == owner && !c.needed(V2) }):
		return "the " + owner + " controller"
	}
	return "its controller"
}

// JoinFiles returns the tasks files of version 1, one for each hierarchy. A child joins
// the leaf by writing "0" to each. Unlike a write to cgroup.procs, this takes no global
// lock. The kernel checks the permission of the process that opened the file, which is
// root. So the child must close the files before execve, or the program could move
// itself. On v2 there are none, because Dir is enough.
func (l *Leaf) JoinFiles() []*os.File { return slices.Clone(l.join) }

// Dir returns the directory on cgroup2, for CLONE_INTO_CGROUP (Linux 5.7). On a hybrid
// host cgroup.kill reaches the run only because the run is in this group. Dir is nil in
// mode v1.
func (l *Leaf) Dir() *os.File { return l.dir }

// Name is the leaf's name within its cell.
func (l *Leaf) Name() string { return l.name }

// Limits returns the limits in force.
func (l *Leaf) Limits() Limits { return l.limits }

// Reusable reports whether another Begin would give correct measurements: every write
// and read succeeded, the group was not killed, and the kernel can reset the memory
// peak. Otherwise Remove the leaf and make another.
func (l *Leaf) Reusable() bool { return !l.unreliable && (l.begun == 0 || l.peakReset) }

// Close closes the leaf's files. Its groups remain.
func (l *Leaf) Close() error {
	for _, f := range l.resting {
		*f = nil // it is closed
	}
	files := append(slices.Clone(l.join), l.dir, l.oom, l.kill)
	files = append(files, l.stats.files...)
	l.join, l.dir, l.oom, l.kill, l.oomFD, l.ctl, l.stats, l.resting = nil, nil, nil, nil, -1, nil, stats{}, nil
	var errs []error
	for _, f := range files {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	return errors.Join(errs...)
}

// Remove kills the processes left, closes the files and removes the groups.
func (l *Leaf) Remove() error {
	errs := []error{l.Close()}
	for _, hy := range l.cell.tree.roots {
		errs = append(errs, sweep(filepath.Join(l.cell.dir(hy), l.name)))
	}
	return errors.Join(errs...)
}
