package cgroups

import (
	"errors"
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

	// It measures now and then. What a kill needs stays open: it must work when no descriptor is free.
	resting := b.measured()
	if b.kill != nil {
		resting = append(resting, &b.procs)
	}
	if err := b.rest(resting...); err != nil {
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

// Quiesce closes the files that only a run needs, and lets all others rest. It is for a leaf whose program has ended
// and left other processes running. Empty, Kill, Close and Remove still work.
func (l *Leaf) Quiesce() error {
	err := l.rest(append(l.measured(), &l.peak, &l.pids, &l.populated, &l.procs, &l.kill, &l.dir)...)
	errs := []error{err}
	for _, f := range append(slices.Clone(l.join), l.oom) {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	l.join, l.oom, l.oomFD = nil, nil, -1
	return errors.Join(errs...)
}
