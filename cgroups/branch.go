package cgroups

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
)

// A Branch is a group whose limits bound all of its leaves together. A session has
// one, with a leaf for each exec: an exec affects only its own leaf, and all execs
// together cannot exceed the branch. No process is in the branch itself. It is
// measured and limited like a leaf; its measurements cover everything below it,
// except LimitHits, which counts the branch's own limit only.
//
// Its methods follow the same concurrency rules as those of Leaf. The leaves of one
// branch may be used concurrently with each other and with the branch.
type Branch struct{ Leaf }

// A kind says where a Leaf is in the tree.
type kind int

const (
	onCell   kind = iota // directly below a cell
	isBranch             // has leaves below it
	onBranch             // directly below a branch
)

// NewBranch makes a branch in the cell. The cell must have no other leaf then.
func (c *Cell) NewBranch(name string) (*Branch, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	b := &Branch{Leaf{cell: c, name: name, kind: isBranch, ctl: map[string]string{}}}
	b.oomFD = -1
	if err := b.build(); err != nil {
		return nil, errors.Join(err, b.Remove())
	}
	return b, nil
}

// NewLeaf makes a leaf below the branch.
func (b *Branch) NewLeaf(name string) (*Leaf, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	l := &Leaf{cell: b.cell, name: filepath.Join(b.name, name), kind: onBranch, ctl: map[string]string{}}
	if err := l.build(); err != nil {
		return nil, errors.Join(err, l.Remove())
	}
	return l, nil
}

// enable enables the branch's controllers for its leaves. As in a leaf, pressure is not
// accounted. memory.oom.group stays off: when a session is out of memory, the kernel
// kills one leaf of its choice and not all of them.
func (l *Leaf) enable() error {
	t := l.cell.tree
	for _, w := range Setup(t.layout) {
		if w.File == "memory.oom.group" {
			continue
		}
		if err := l.write(w); err != nil && !errors.Is(err, ErrUnsupported) {
			return err
		}
	}

	if !t.layout.Unified {
		return nil
	}
	return t.enable(l.dir.Name())
}

// Quiesce closes the files that only a run needs. It is for a leaf whose program has ended
// and left other processes running. Empty, Kill, Close and Remove still work.
func (l *Leaf) Quiesce() error {
	keep := slices.DeleteFunc([]*os.File{l.pids, l.populated, l.procs}, func(f *os.File) bool { return f == nil })
	files := append(slices.Clone(l.stats.files), l.oom)
	files = append(files, l.join...)
	l.stats = stats{pidsStats: pidsStats{pids: l.pids, procs: l.procs}, populated: l.populated, files: keep}
	l.join, l.oom, l.oomFD = nil, nil, -1
	var errs []error
	for _, f := range files {
		if f != nil && !slices.Contains(keep, f) {
			errs = append(errs, f.Close())
		}
	}
	return errors.Join(errs...)
}
