package cgroups

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// A Cell is the groups of one cell. Its first process lives in the group init, which
// libcontainer makes; its runs live in leaves next to it.
type Cell struct {
	tree *Tree
	name string
	uid  int // owner of cgroup.procs on cgroup2; 0 leaves it to root

	weight int64 // in force, as in Limits; set by Apply, of one leaf at a time
}

// Cell makes the groups of a cell. uid, when not 0, is the host uid of the cell's
// root. It becomes the owner of cgroup.procs on cgroup2, here and in every leaf,
// because CLONE_INTO_CGROUP requires write permission on cgroup.procs of the target
// and of the common ancestor. It owns nothing else: the limits stay root's.
func (t *Tree) Cell(name string, uid int) (*Cell, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	c := &Cell{tree: t, name: name, uid: uid}
	if err := c.build(); err != nil {
		return nil, errors.Join(err, c.Remove())
	}
	return c, nil
}

func (c *Cell) build() error {
	if err := c.tree.mkdir(c.name); err != nil {
		return err
	}
	if c.tree.layout.Unified {
		if err := c.tree.enable(c.dir(c.tree.roots[0])); err != nil {
			return err
		}
	}
	return c.chownProcs("")
}

// chownProcs makes the cell's root the owner of cgroup.procs in a group, which is named
// relative to the cell.
func (c *Cell) chownProcs(rel string) error {
	u, ok := c.tree.host.Unified()
	if !ok || c.uid == 0 {
		return nil
	}
	return os.Lchown(filepath.Join(c.dir(u), rel, "cgroup.procs"), c.uid, -1)
}

func (c *Cell) dir(hy Hierarchy) string {
	return filepath.Join(c.tree.base(hy), c.tree.name, c.name)
}

// InitPath is the Path of libcontainer's configs.Cgroup for the cell's first process.
// It is relative: libcontainer resolves it below the agent's own group, on v2 next to
// the agent's leaf.
func (c *Cell) InitPath() string {
	return filepath.Join(c.tree.name, c.name, "init")
}

// Remove kills the processes left in the cell and removes its groups from every
// hierarchy. Leaves must be closed first.
func (c *Cell) Remove() error {
	var errs []error
	for _, root := range c.tree.all {
		errs = append(errs, sweep(filepath.Join(root, c.name)))
	}
	return errors.Join(errs...)
}

// NewLeaf makes a group for runs and opens its files.
func (c *Cell) NewLeaf(name string) (*Leaf, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	if name == "init" {
		return nil, fmt.Errorf("leaf name %q is reserved for the cell itself", name)
	}
	l := &Leaf{cell: c, name: name, ctl: map[string]string{}}
	if err := l.build(); err != nil {
		return nil, errors.Join(err, l.Remove())
	}
	return l, nil
}
