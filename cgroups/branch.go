package cgroups

import (
	"errors"
	"os"
	"path/filepath"
)

// A Branch is a group whose limits bound all of its leaves together. A session has
// one, with a leaf for each exec: what one exec does to its leaf leaves the others
// alone, and all of them cannot have more than the branch. No process is in the
// branch itself. It is measured and limited as a leaf is, its figures being those of
// everything below it; only LimitHits are its own.
//
// Its methods are not safe for concurrent use, except as a Leaf's are; but leaves of
// one branch may be used beside each other and beside it.
type Branch struct{ Leaf }

// A kind says where a Leaf stands.
type kind int

const (
	alone    kind = iota // a cell's own
	isBranch             // has leaves below it
	onBranch             // is one of them
)

// NewBranch makes one in the cell, which then is to have no other leaf.
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

// Weigh gives the branch's cell another weight, and leaves its other limits.
func (b *Branch) Weigh(weight int64) error {
	want := b.limits
	want.Weight = weight
	return b.Apply(want)
}

// Limit gives the branch another memory limit, and leaves its other limits.
func (b *Branch) Limit(memory int64) error {
	want := b.limits
	if want.MemoryBytes != 0 { // none where the layer is left out on purpose
		want.MemoryBytes = memory
	}
	return b.Apply(want)
}

// Confine gives a leaf other processors, and leaves its other limits. It may be called
// after Rest.
func (l *Leaf) Confine(cpuset string) error {
	want := l.limits
	want.Cpuset = cpuset
	return l.Apply(want)
}

// enable hands the branch's controllers down to its leaves. Pressure is not accounted
// in it either, and memory.oom.group stays off: a session out of memory loses the leaf
// of the kernel's choice and not all of them.
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

// Rest closes what only a run needs, and keeps Empty, Kill, Close and Remove: for a
// leaf whose program has ended and left others running.
func (l *Leaf) Rest() error {
	keep := []*os.File{l.pids, l.populated, l.procs}
	files := append(l.stats.files(), l.oom)
	files = append(files, l.join...)
	l.stats = stats{pids: l.pids, populated: l.populated, procs: l.procs}
	l.join, l.oom, l.oomFD = nil, nil, -1
	var errs []error
	for _, f := range files {
		if f != nil && f != keep[0] && f != keep[1] && f != keep[2] {
			errs = append(errs, f.Close())
		}
	}
	return errors.Join(errs...)
}
