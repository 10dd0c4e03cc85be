package cgroups

import (
	"fmt"
	"slices"
)

// A Mode is the way control groups are mounted.
type Mode string

const (
	V1     Mode = "v1"     // every controller on version 1, no cgroup2
	Hybrid Mode = "hybrid" // controllers on version 1, plus an empty cgroup2
	V2     Mode = "v2"     // everything on cgroup2
)

// A Hierarchy is one mounted control group hierarchy.
type Hierarchy struct {
	Mount       string   `json:"mount"`                 // where it is mounted
	Own         string   `json:"own"`                   // directory of the group this process was in when probed
	Controllers []string `json:"controllers,omitempty"` // version 1: those mounted here; version 2: cgroup.controllers of Own
	Unified     bool     `json:"unified,omitempty"`     // cgroup2
	Root        bool     `json:"root,omitempty"`        // Own is the true root, where limits do not exist
}

// A State says whether a feature is available.
type State string

const (
	Yes     State = "yes"
	No      State = "no"
	Unknown State = "unknown" // there was no group to look in
)

// Features are detected by the presence of the kernel's files, not by its version.
type Features struct {
	Kill        State `json:"cgroup_kill"`       // cgroup.kill, Linux 5.14
	Peak        State `json:"memory_peak"`       // memory.peak (5.19), or version 1's max_usage_in_bytes
	PeakReset   State `json:"memory_peak_reset"` // memory.peak reset per descriptor (6.12); always on version 1
	OOMGroup    State `json:"memory_oom_group"`  // memory.oom.group, 4.19, version 2 only
	Swap        State `json:"swap_limit"`        // memory.swap.max or memory.memsw.limit_in_bytes
	PidsPeak    State `json:"pids_peak"`         // pids.peak, 6.1
	PidsEvents  State `json:"pids_events"`       // pids.events, 4.8
	Pressure    State `json:"cgroup_pressure"`   // cgroup.pressure, 6.1
	LocalEvents State `json:"memory_events_local"`
}

// A Host is what this machine offers to a process in this process's groups.
type Host struct {
	Mode        Mode        `json:"mode"`
	Hierarchies []Hierarchy `json:"hierarchies"`
	Features    Features    `json:"features"`
	SwapOn      bool        `json:"swap_on"` // a swap area is in use
}

// needed returns the names of the controllers that every run requires.
func (h *Host) needed() []string {
	var names []string
	for _, c := range controllers {
		if c.needed(h.Mode) {
			names = append(names, c.name())
		}
	}
	return names
}

// Controller returns the hierarchy that has the named controller.
func (h *Host) Controller(name string) (Hierarchy, error) {
	for _, hy := range h.Hierarchies {
		if hy.Unified == (h.Mode == V2) && slices.Contains(hy.Controllers, name) {
			return hy, nil
		}
	}
	e := &ControllerError{Controller: name, Remedy: fmt.Sprintf("mount it, or boot without cgroup_disable=%s", name)}
	if u, ok := h.Unified(); ok && h.Mode == V2 {
		e.Dir, e.Remedy = u.Own, remedyDelegate
	}
	return Hierarchy{}, e
}

// Unified returns the cgroup2 hierarchy; false in mode v1.
func (h *Host) Unified() (Hierarchy, bool) {
	for _, hy := range h.Hierarchies {
		if hy.Unified {
			return hy, true
		}
	}
	return Hierarchy{}, false
}

// Check refuses a host on which a run could not be limited, naming what is missing.
func (h *Host) Check() error {
	for _, name := range h.needed() {
		if _, err := h.Controller(name); err != nil {
			return err
		}
	}
	if h.SwapOn && h.Features.Swap == No {
		return &UnsupportedError{Feature: "swap accounting", Since: "swapaccount=1 at boot, or swapoff -a"}
	}
	return nil
}

// limited returns the hierarchies that runs join: those with a controller we use, and cgroup2.
func (h *Host) limited() []Hierarchy {
	var out []Hierarchy
	for _, hy := range h.Hierarchies {
		if hy.Unified || slices.ContainsFunc(hy.Controllers, isOurs) {
			out = append(out, hy)
		}
	}
	return out
}

func isOurs(name string) bool {
	return slices.ContainsFunc(controllers, func(c controller) bool { return c.name() == name })
}
