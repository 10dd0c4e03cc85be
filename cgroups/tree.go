package cgroups

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A Recorder is called with each path before a group is made there, so that the
// successor of a killed agent can find it. An error stops the creation.
type Recorder func(path string) error

// prefix begins the name of every group that is ours; Sweep touches no other.
const prefix = "brig-"

// A Tree is one agent's groups: a directory of the same name below the agent's own
// group in every hierarchy.
type Tree struct {
	host       *Host
	name       string      // brig-<instance>
	roots      []Hierarchy // those that runs join
	all        []string    // our directory in every mounted hierarchy, made or not
	leaf       string      // v2: where the agent moved to; empty if it stayed
	parent     string      // v2: the group above name
	layout     Layout
	feat       Features
	io         bool   // v2: the io controller is enabled as well
	membership string // /proc/self/cgroup when the tree was made
}

// Create makes the tree of one agent. On v2 the calling process first moves to the
// leaf brig-agent next to it, because a group with processes cannot enable controllers
// for the groups below it (cgroup-v2.rst, "No Internal Process Constraint"). If a
// foreign process is in the way, the error says how to start the agent in its own group.
func Create(h *Host, instance string, record Recorder) (*Tree, error) {
	if err := checkName(instance); err != nil {
		return nil, err
	}
	if prefix+instance == agentLeaf {
		return nil, fmt.Errorf("instance name %q is reserved: the agent itself is in the group of this name", instance)
	}
	if err := h.Check(); err != nil {
		return nil, err
	}

	t := &Tree{host: h, name: prefix + instance, roots: h.limited()}
	t.layout.Unified = h.Mode == V2
	if h.Mode == V2 {
		t.parent = t.roots[0].Own

		// An agent that is in brig-agent already makes its tree next to that group: below it, a tree would get
		// no controllers.
		if filepath.Base(t.parent) == agentLeaf {
			t.parent, t.leaf = filepath.Dir(t.parent), t.parent
		}
	}

	// All names are checked before the first group is made: after an error Remove kills what is in the
	// tree, which must not be another agent's.
	for _, hy := range killFirst(h.Hierarchies) {
		dir := filepath.Join(t.base(hy), t.name)
		if exists(dir) {
			return nil, fmt.Errorf("create %s: it exists: another agent uses this instance name, or an agent with "+
				"this name died: remove the group first", dir)
		}
		t.all = append(t.all, dir)
	}

	// The paths are recorded before the groups exist. An agent that is killed in between leaves a record
	// of nothing, and not a group that no successor knows.
	for _, dir := range t.all {
		if err := record(dir); err != nil {
			return nil, fmt.Errorf("record %s: %w", dir, err)
		}
	}

	if err := t.build(record); err != nil {
		return nil, errors.Join(err, t.Remove())
	}

	home, err := os.ReadFile("/proc/self/cgroup") // on v2 we have moved
	if err != nil {
		return nil, errors.Join(err, t.Remove())
	}

	t.membership = string(home)
	return t, nil
}

// killFirst orders hierarchies for removal. First come those where forking cannot outrun
// killing: cgroup2 (cgroup.kill), then pids (pids.max).
func killFirst(hs []Hierarchy) []Hierarchy {
	rank := func(hy Hierarchy) int {
		switch {
		case hy.Unified:
			return 0
		case slices.Contains(hy.Controllers, "pids"):
			return 1
		}
		return 2
	}
	return slices.SortedStableFunc(slices.Values(hs), func(a, b Hierarchy) int { return rank(a) - rank(b) })
}

func (t *Tree) build(record Recorder) error {
	if t.layout.Unified {
		if err := t.delegate(record); err != nil {
			return err
		}
	}
	if err := t.mkdir(""); err != nil {
		return err
	}
	if t.layout.Unified {
		if err := t.enable(filepath.Join(t.parent, t.name)); err != nil {
			return err
		}
	}

	t.feat = t.probe()
	t.layout.Swap = t.feat.Swap == Yes
	if !t.layout.Swap && t.host.SwapOn {
		return &UnsupportedError{Feature: "swap accounting", Since: "swapaccount=1 at boot, or swapoff -a"}
	}
	if c, err := t.host.Controller("cpuset"); err == nil && !t.layout.Unified {
		b, err := os.ReadFile(filepath.Join(c.Own, t.name, "cpuset.cpus"))
		if err != nil {
			return err
		}
		t.layout.Cpus = strings.TrimSpace(string(b))
	}

	return nil
}

// probe detects the features again, in a group that is not the root.
func (t *Tree) probe() Features {
	h := *t.host
	h.Hierarchies = slices.Clone(h.Hierarchies)
	for i := range h.Hierarchies {
		h.Hierarchies[i].Own = t.base(h.Hierarchies[i])
	}
	return h.features(t.name)
}

// CheckMoved returns an error if this process was moved to another group since the tree was
// made, in any hierarchy. The tree stays in place and its groups stay limited; but a
// group made relative to our own group would not be limited (AGT-15).
func (t *Tree) CheckMoved() error {
	now, err := os.ReadFile("/proc/self/cgroup")
	if err != nil || string(now) == t.membership {
		return err
	}
	was := slices.Collect(strings.Lines(t.membership))
	for line := range strings.Lines(string(now)) {
		if !slices.Contains(was, line) {
			return fmt.Errorf("this agent was moved from its own control group to %q: move it back, or restart it",
				strings.TrimSpace(line))
		}
	}
	return errors.New("a control group hierarchy that this agent was in no longer exists: restart the agent")
}

// base is the group above ours in a hierarchy. On the cgroup2 of a hybrid host, which
// has no controllers, it is the root: libcontainer puts a cell's first process below the
// root wherever we are (GetOwnCgroupPath), and that process can clone only into groups
// next to its own.
func (t *Tree) base(hy Hierarchy) string {
	switch {
	case !hy.Unified:
		return hy.Own
	case t.layout.Unified:
		return t.parent
	}
	return hy.Mount
}

// Features returns the features found in the tree's own group, where none is unknown.
func (t *Tree) Features() Features { return t.feat }

// Host returns the host that the tree was created on.
func (t *Tree) Host() *Host { return t.host }

// Paths lists the tree's directory in every mounted hierarchy, including those in which
// only libcontainer makes groups.
func (t *Tree) Paths() []string { return slices.Clone(t.all) }

// mkdir makes one group, named relative to the tree, in every hierarchy that runs join.
func (t *Tree) mkdir(rel string) error {
	for _, hy := range t.roots {
		dir := filepath.Join(t.base(hy), t.name, rel)
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
		if !hy.Unified && slices.Contains(hy.Controllers, "cpuset") {
			if err := inheritCpuset(dir); err != nil {
				return err
			}
		}
	}
	return nil
}

// Remove kills the processes left in the tree and removes it from every hierarchy,
// including libcontainer's groups. On v2 the agent returns to its original group, if
// no other agent's tree is there.
func (t *Tree) Remove() error {
	var errs []error
	for _, dir := range t.all {
		errs = append(errs, sweep(dir))
	}
	if t.leaf != "" {
		errs = append(errs, t.undelegate())
	}
	return errors.Join(errs...)
}

// checkName admits names that are one path component and cannot be a kernel file.
func checkName(name string) error {
	if name == "" || len(name) > 64 || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
		return fmt.Errorf("group name %q: use 1 to 64 of a-z, 0-9 and -", name)
	}
	return nil
}
