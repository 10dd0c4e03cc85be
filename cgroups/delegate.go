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

// delegate frees the group above the tree of our own process and hands its
// controllers down. At the true root neither rule nor leaf exist.
func (t *Tree) delegate(record Recorder) error {
	if !t.roots[0].Root && t.leaf == "" {
		leaf := filepath.Join(t.parent, agentLeaf)
		if err := record(leaf); err != nil {
			return fmt.Errorf("record %s: %w", leaf, err)
		}
		if err := os.Mkdir(leaf, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("%w: %s", err, cureDelegate)
		}
		t.leaf = leaf
		if err := putPath(filepath.Join(leaf, "cgroup.procs"), "0"); err != nil {
			return err
		}
	}
	return t.enable(t.parent)
}

// enable hands the controllers down in dir. A controller that cannot be had is an
// error by name: libcontainer, left to itself, starts without it and says nothing.
func (t *Tree) enable(dir string) error {
	have, err := words(filepath.Join(dir, "cgroup.controllers"))
	if err != nil {
		return err
	}
	want := t.host.needed()
	for _, c := range want {
		if !slices.Contains(have, c) {
			return &ControllerError{Controller: c, Dir: dir, Cure: cureDelegate}
		}
	}
	if slices.Contains(have, "cpuset") {
		want = append(want, "cpuset")
	}
	err = putPath(filepath.Join(dir, "cgroup.subtree_control"), "+"+strings.Join(want, " +"))
	if errors.Is(err, unix.EBUSY) {
		return fmt.Errorf("%w: other processes are in %s: %s", err, dir, cureDelegate)
	}
	if err != nil {
		return err
	}
	got, err := words(filepath.Join(dir, "cgroup.subtree_control"))
	if err != nil {
		return err
	}
	for _, c := range want {
		if !slices.Contains(got, c) {
			return &ControllerError{Controller: c, Dir: dir, Cure: cureDelegate}
		}
	}
	return nil
}

// undelegate leaves the group above the tree as it was found.
func (t *Tree) undelegate() error {
	others, err := filepath.Glob(filepath.Join(t.parent, prefix+"*"))
	if err != nil || len(others) > 1 { // another agent's tree needs what we enabled
		return err
	}
	on, err := words(filepath.Join(t.parent, "cgroup.subtree_control"))
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

func words(path string) ([]string, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return strings.Fields(string(b)), nil
}
