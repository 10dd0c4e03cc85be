package api

import (
	"fmt"
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

// Defaults returns the limits of a run that sets none.
func Defaults() Limits {
	return Limits{
		Wall: Duration(30 * time.Second), Memory: 512 * MiB, CPUs: 1, Weight: 1024, Pids: 100,
		Output: 16 * MiB, Scratch: 64 * MiB, Inodes: 10_000, OpenFiles: 256,
	}
}

// DefaultCeiling returns the maximum limits of a run if the operator has set nothing else. A zero
// field has no ceiling, with these exceptions: Swap and Cpuset are then not available, and the
// agent sets CPUs to the processors of a slot. The ceiling of Weight is its default, because a
// greater weight takes processor time from other keys' runs.
func DefaultCeiling() Limits {
	return Limits{
		Wall: Duration(30 * time.Second), CPU: Duration(30 * time.Second), Memory: 4 * GiB, Swap: 0,
		Weight: 1024, Pids: 4096, Output: 64 * MiB, Scratch: 1 * GiB, Inodes: 200_000, OpenFiles: 4096,
	}
}

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

// Over returns l with its zero fields taken from base.
func (l Limits) Over(base Limits) Limits {
	return Limits{
		Wall: or(l.Wall, base.Wall), CPU: or(l.CPU, base.CPU), Memory: or(l.Memory, base.Memory),
		Swap: or(l.Swap, base.Swap), CPUs: or(l.CPUs, base.CPUs), Weight: or(l.Weight, base.Weight),
		Cpuset: or(l.Cpuset, base.Cpuset), Pids: or(l.Pids, base.Pids), Output: or(l.Output, base.Output),
		Scratch: or(l.Scratch, base.Scratch), Inodes: or(l.Inodes, base.Inodes),
		OpenFiles: or(l.OpenFiles, base.OpenFiles), Stack: or(l.Stack, base.Stack), Core: or(l.Core, base.Core),
	}
}

func or[T comparable](a, b T) T {
	var zero T
	if a != zero {
		return a
	}
	return b
}

// Resolve fills the fields that depend on others: cpu from wall, stack from memory. It expects
// every other field to be set.
func (l Limits) Resolve() Limits {
	l.CPU = or(l.CPU, l.Wall)
	l.Stack = or(l.Stack, l.Memory)
	return l
}

// Validate refuses limits that make no sense for any caller. Zero fields pass: they are not set.
func (l Limits) Validate() error {
	for _, f := range l.fields() {
		if f.value != 0 && f.value < f.min {
			return Refuse(CodeBadLimits, "limit %s is %s", f.name, f.belowMin())
		}
	}
	switch {
	case l.CPUs != 0 && !(l.CPUs >= 0.01 && l.CPUs <= 4096): // also catches NaN
		return Refuse(CodeBadLimits, "limit cpus is %v: must be between 0.01 and 4096", l.CPUs)
	case l.Weight > 262144:
		return Refuse(CodeBadLimits, "limit weight is %d: the most is 262144", l.Weight)
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
	requested, ceilings := l.fields(), ceiling.fields()
	for i, f := range requested {
		top := ceilings[i].value
		if f.value > top && (top != 0 || f.name == "swap") {
			return Refuse(CodeAboveCeiling, "limit %s is %s, above this agent's ceiling of %s: ask for less, or have the operator raise it (brigd --max-%s)", f.name, f.text(f.value), f.text(top), strings.ReplaceAll(f.name, "_", "-"))
		}
	}
	if ceiling.CPUs != 0 && l.CPUs > ceiling.CPUs {
		return Refuse(CodeAboveCeiling, "limit cpus is %v, above this agent's ceiling of %v: ask for less, or have the operator raise it (brigd --max-cpus)", l.CPUs, ceiling.CPUs)
	}
	return nil
}

type limitField struct {
	name       string
	value, min int64
	text       func(int64) string
	size       bool // value is bytes
}

// belowMin describes the value and the minimum. A small number of bytes was probably meant in
// megabytes, with the unit left out. A multiple of 1024 probably had the unit K: it gets no hint.
func (f limitField) belowMin() string {
	value, meant := f.text(f.value), Size(f.value)*MiB
	if f.size && f.value > 0 && f.value < 4096 && f.value%1024 != 0 && int64(meant) >= f.min {
		return fmt.Sprintf("%s bytes: the least is %s: did you mean %dM?", value, f.text(f.min), f.value)
	}
	return fmt.Sprintf("%s: the least is %s", value, f.text(f.min))
}

func (l Limits) fields() []limitField {
	span := func(v int64) string { return Duration(v).String() }
	size := func(v int64) string { return Size(v).String() }
	count := func(v int64) string { return fmt.Sprint(v) }
	ms := int64(time.Millisecond)
	return []limitField{
		{"wall", int64(l.Wall), ms, span, false},
		{"cpu", int64(l.CPU), ms, span, false},
		{"memory", int64(l.Memory), int64(MinMemory), size, true},
		{"swap", int64(l.Swap), 4096, size, true},
		{"weight", l.Weight, 2, count, false},
		{"pids", l.Pids, 1, count, false},
		{"output", int64(l.Output), 1, size, true},
		{"scratch", int64(l.Scratch), 4096, size, true},
		{"inodes", l.Inodes, 16, count, false},
		{"open_files", l.OpenFiles, 3, count, false},
		{"stack", int64(l.Stack), 64 << 10, size, true},
	}
}
