package api

import (
	"cmp"
	"strings"
	"time"
)

// Limits bound one run. A zero field takes the default (from Defaults, the language or a preset).
// There is no "unlimited": an operator who wants more raises the ceiling.
type Limits struct {
	Wall      Duration `json:"wall,omitempty" doc:"maximum time from exec to exit"`
	CPU       Duration `json:"cpu,omitempty" doc:"processor time, user and system, of all processes together; zero means the same as wall"`
	Memory    Size     `json:"memory,omitempty" doc:"memory of all processes, of files in memory including the inputs, and of the kernel objects that Linux charges; file locks are limited by their number"`
	Swap      Size     `json:"swap,omitempty" doc:"swap in addition to memory; zero means none"`
	CPUs      float64  `json:"cpus,omitempty" doc:"number of processors, as a quota over a period of 100 ms; more than one only if the slot has as many"`
	Weight    int64    `json:"weight,omitempty" doc:"share of the processor under contention, 2 to 262144; 1024 is the kernel's default, and the maximum if the operator sets no other"`
	Cpuset    string   `json:"cpuset,omitempty" doc:"allowed processors, such as 0-1,3; empty means those of the slot. At the agent's socket root may set any, other callers only those that the operator lists (brigd --max-cpuset)"`
	Pids      int64    `json:"pids,omitempty" doc:"processes and threads together"`
	Output    Size     `json:"output,omitempty" doc:"size of stdout and of stderr, each; one byte more ends the run. An answer in one piece has the first 16M of each: stream the output to get more"`
	Scratch   Size     `json:"scratch,omitempty" doc:"size of /box, /tmp and /dev/shm together"`
	Inodes    int64    `json:"inodes,omitempty" doc:"files and directories in /box, /tmp and /dev/shm together"`
	OpenFiles int64    `json:"open_files,omitempty" doc:"descriptors of one process"`
	Stack     Size     `json:"stack,omitempty" doc:"stack of the main thread; zero means the same as memory"`
	Core      Size     `json:"core,omitempty" doc:"core file; zero means none"`
}

// MinMemory is the smallest memory limit accepted: exec of a small program and the kernel's own
// objects for it need that much.
const MinMemory = 4 * MiB

// Preset returns the named preset: "hardened" or "light". It overrides the defaults, and the
// request's limits override it field by field.
func Preset(name string) (Limits, error) {
	switch name {
	case "":
		return Limits{}, nil
	case "hardened":
		return Limits{Memory: 256 * MiB, Wall: Duration(10 * time.Second), CPUs: 0.5, Pids: 64}, nil
	case "light":
		return Limits{Memory: 128 * MiB, Wall: Duration(5 * time.Second), CPUs: 0.5, Pids: 64}, nil
	}
	return Limits{}, Refuse(CodeBadLimits, "preset %q does not exist: use hardened or light", name)
}

// Resolve fills the fields that depend on others: cpu from wall, stack from memory. It expects
// every other field to be set.
func (l Limits) Resolve() Limits {
	l.CPU = cmp.Or(l.CPU, l.Wall)
	l.Stack = cmp.Or(l.Stack, l.Memory)
	return l
}

// Defaults returns the limits of a run that sets none.
func Defaults() (l Limits) {
	for _, row := range limitTable {
		row.standard(&l)
	}
	return l
}

// DefaultCeiling returns the maximum limits of a run if the operator has set nothing else. A zero
// field has no ceiling, with these exceptions: Swap and Cpuset are then not available, and the
// agent sets CPUs to the processors of a slot. The ceiling of Weight is its default, because a
// greater weight takes processor time from other keys' runs.
func DefaultCeiling() (l Limits) {
	for _, row := range limitTable {
		row.top(&l)
	}
	return l
}

// Over returns l with its zero fields taken from base.
func (l Limits) Over(base Limits) Limits {
	for _, row := range limitTable {
		row.fill(&l, base)
	}
	l.Core = cmp.Or(l.Core, base.Core)
	return l
}

// BusyWall is the wall time in which a program that waits for nothing gets so much processor time, also on a busy host:
// the load of the host decides neither about a compiler nor about a program of the jury.
func BusyWall(cpu Duration) Duration { return 4 * cpu }

// CappedBy returns l with every field at most the ceiling's.
func (l Limits) CappedBy(ceiling Limits) Limits {
	for _, row := range limitTable {
		row.lower(&l, ceiling)
	}
	return l
}

// Validate refuses limits that make no sense for any caller. Zero fields pass: they are not set.
func (l Limits) Validate() error {
	for _, row := range limitTable {
		if err := row.check(l); err != nil {
			return err
		}
	}

	switch {
	case l.CPUs != 0 && !(l.CPUs >= 0.01 && l.CPUs <= 4096): // also catches NaN
		return Refuse(CodeBadLimits, "limit cpus is %v: must be between 0.01 and 4096", l.CPUs)
	case l.Weight > 262144:
		return Refuse(CodeBadLimits, "limit weight is %d: the maximum is 262144", l.Weight)
	case strings.Trim(l.Cpuset, "0123456789,-") != "" || len(l.Cpuset) > 256:
		return Refuse(CodeBadLimits, "limit cpuset is %q: write processors as 0-1,3", l.Cpuset)
	case l.Core != 0:
		return Refuse(CodeBadLimits, "limit core is %s: brig writes no core files; leave it out", l.Core)
	}

	return nil
}

// Within refuses limits above the ceiling and names the ceiling in the error. Zero fields of
// ceiling do not bound, except Swap, where zero means none.
func (l Limits) Within(ceiling Limits) error {
	for _, row := range limitTable {
		if err := row.within(l, ceiling); err != nil {
			return err
		}
	}
	return nil
}

// refuseScope refuses limits of a scope if they are set. belongsTo says in the error what they are for.
func (l Limits) refuseScope(scope LimitScope, belongsTo string) error {
	for _, row := range limitTable {
		if row.Scope == scope && row.isSet(l) {
			return Refuse(CodeBadLimits, "limit %s is %s", row.Name, belongsTo)
		}
	}
	return nil
}
