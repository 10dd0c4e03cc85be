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

// agentLeaf is where the agent's own process lives on v2.
const agentLeaf = prefix + "agent"

// delegate moves our own process out of the group above the tree and enables that
// group's controllers for the tree. At the true root the rule against processes in
// inner groups does not apply, and no leaf is made.
func (t *Tree) delegate(record Recorder) error {
	if !t.roots[0].Root && t.leaf == "" {
		leaf := filepath.Join(t.parent, agentLeaf)
		if err := record(leaf); err != nil {
			return fmt.Errorf("record %s: %w", leaf, err)
		}
		if err := os.Mkdir(leaf, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("%w: %s", err, remedyDelegate)
		}
		t.leaf = leaf
		if err := putPath(filepath.Join(leaf, "cgroup.procs"), "0"); err != nil {
			return err
		}
	}

	return t.enable(t.parent)
}

// enable enables the controllers for the groups below dir. A controller that is not
// available is an error that names it: libcontainer alone would start without it and
// report nothing.
func (t *Tree) enable(dir string) error {
	have, err := readFields(filepath.Join(dir, "cgroup.controllers"))
	if err != nil {
		return err
	}

	want := t.host.needed()
	if t.io {
		want = append(want, "io")
	}

	for _, c := range want {
		if !slices.Contains(have, c) {
			return &ControllerError{Controller: c, Dir: dir, Remedy: remedyDelegate}
		}
	}

	for _, c := range controllers {
		if !c.needed(t.host.Mode) && slices.Contains(have, c.name()) {
			want = append(want, c.name())
		}
	}

	err = putPath(filepath.Join(dir, "cgroup.subtree_control"), "+"+strings.Join(want, " +"))
	if errors.Is(err, unix.EBUSY) {
		return fmt.Errorf("%w: other processes are in %s: %s", err, dir, remedyDelegate)
	}
	if err != nil {
		return err
	}

	got, err := readFields(filepath.Join(dir, "cgroup.subtree_control"))
	if err != nil {
		return err
	}

	for _, c := range want {
		if !slices.Contains(got, c) {
			return &ControllerError{Controller: c, Dir: dir, Remedy: remedyDelegate}
		}
	}

	return nil
}

// undelegate restores the group above the tree to its earlier state.
func (t *Tree) undelegate() error {
	others, err := filepath.Glob(filepath.Join(t.parent, prefix+"*"))
	if err != nil || len(others) > 1 { // another agent's tree needs what we enabled
		return err
	}

	on, err := readFields(filepath.Join(t.parent, "cgroup.subtree_control"))
	if err != nil {
		return err
	}
	if len(on) > 0 {
		if err := putPath(filepath.Join(t.parent, "cgroup.subtree_control"), "-"+strings.Join(on, " -")); err != nil {
			return err
		}
	}
	if err := putPath(filepath.Join(t.parent, "cgroup.procs"), "0"); err != nil {
		return err
	}

	leaf := t.leaf
	t.leaf = ""
	return rmdir(leaf)
}

func readFields(path string) ([]string, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return strings.Fields(string(b)), nil
}
