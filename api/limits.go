package api

import (
	"cmp"
	"fmt"
	"strings"
	"time"
)

// Limits bound one run. A zero field takes the default (from Defaults, the language or a preset).
// Of AddressSpace, Data and FileSize the default is no limit, because other fields bound what they
// count for all processes together. Of the others there is no "unlimited": an operator who wants
// more raises the ceiling.
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

	AddressSpace Size `json:"address_space,omitempty" doc:"what one process may map, used or not: files, libraries, memory, and for each thread a stack as large as the limit stack. A mapping beyond it fails, so that malloc returns NULL. Zero means no limit of its own"`
	Data         Size `json:"data,omitempty" doc:"what one process may map privately and writable, without the stack of the main thread. A mapping beyond it fails, so that malloc returns NULL. Zero means no limit of its own"`
	FileSize     Size `json:"file_size,omitempty" doc:"size of each file that a process writes; a write beyond it ends the process with SIGXFSZ, or fails if the process ignores this signal. Zero means that of scratch, or of the volume if that is larger"`
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
// four times as much, and at least 10 s more, because some seconds of load are no fault of a program that may use one
// second. Zero, no limit, stays zero.
func BusyWall(cpu Duration) Duration {
	if cpu == 0 {
		return 0
	}
	return max(4*cpu, cpu+Duration(10*time.Second))
}

// CappedBy returns l with every field at most the ceiling's. An optional limit that l has not becomes the ceiling.
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

// A Limit is a row of the table of limits. Defaults, ceilings, checks, flags and docs/reports/limits.md are
// made from the rows: a new limit is a field of Limits, a row of limitTable, and the place that applies it.
type Limit struct {
	Name  string // as in JSON; flags have - in place of _
	Scope LimitScope
	Help  string // of the flag of a command that runs a program
	Top   string // help of brigd's flag --max-NAME; empty: there is no ceiling to set
	By    string // the kernel facility, or the part of brig, that applies it

	Least, Default, Ceiling string // as text; empty: none
	Otherwise               string // the default in words, where it is no fixed value
	Optional                bool   // zero is no limit: where there is a ceiling, zero is lowered to it

	// Field returns the pointer to the limit's field: a *Duration, *Size, *int64, *float64 or *string.
	Field func(l *Limits) any

	isSet    func(l Limits) bool
	text     func(l Limits) string
	standard func(l *Limits)                      // sets the default
	top      func(l *Limits)                      // sets the default ceiling
	fill     func(l *Limits, base Limits)         // takes base's value if l has none
	lower    func(l *Limits, ceiling Limits)      // takes the ceiling's value if l's is above it
	check    func(l Limits) error                 // refuses a value that is too small
	within   func(l Limits, ceiling Limits) error // refuses a value above the ceiling
}

// A LimitScope says to what a limit applies in a session. In a run every limit applies to the run.
type LimitScope int

const (
	OfBoth    LimitScope = iota // to the session as a whole, and to each of its execs
	OfExec                      // to each exec only
	OfSession                   // to the session as a whole only
)

// LimitTable returns the limits that a request may set, in the order in which help lists them.
func LimitTable() []Limit { return limitTable }

var limitTable = []Limit{
	bounded(Limit{Name: "memory", Help: "memory of all processes together", Top: "ceiling of a run's memory",
		By: "memory controller"},
		func(l *Limits) *Size { return &l.Memory }, MinMemory, 512*MiB, 4*GiB),
	bounded(Limit{Name: "wall", Scope: OfExec, Help: "time from start to end, such as 1.5s",
		Top: "ceiling of a run's wall time", By: "a timer of the agent"},
		func(l *Limits) *Duration { return &l.Wall }, Duration(time.Millisecond), Duration(30*time.Second),
		Duration(30*time.Second)),
	bounded(Limit{Name: "cpu", Scope: OfExec, Help: "processor time of all processes together", Otherwise: "as --wall",
		Top: "ceiling of a run's cpu time",
		By:  "the cpu controller's counter, which the agent reads; RLIMIT_CPU for each process"},
		func(l *Limits) *Duration { return &l.CPU }, Duration(time.Millisecond), 0, Duration(30*time.Second)),
	bounded(Limit{Name: "cpus", Help: "processors that are used at once, such as 0.5",
		Top: "ceiling of the processors that a run uses at once (default: those of a slot)", By: "cpu controller, quota"},
		func(l *Limits) *float64 { return &l.CPUs }, 0, 1, 0), // Validate has its range: NaN is no number
	bounded(Limit{Name: "weight", Scope: OfSession, Help: "share of the processor under contention",
		Top: "ceiling of a run's share under contention", By: "cpu controller, weight"},
		func(l *Limits) *int64 { return &l.Weight }, 2, 1024, 1024),
	listed(Limit{Name: "cpuset", Scope: OfSession, Help: "processors allowed, such as 0-1", Otherwise: "the slot's own",
		Top: "`LIST` of processors, such as 2-3, that callers other than root may select (default: none)",
		By:  "cpuset controller"},
		func(l *Limits) *string { return &l.Cpuset }),
	bounded(Limit{Name: "pids", Help: "processes and threads", Top: "ceiling of a run's processes and threads",
		By: "pids controller"},
		func(l *Limits) *int64 { return &l.Pids }, 1, 100, 4096),
	bounded(Limit{Name: "output", Scope: OfExec, Help: "bytes of stdout and of stderr",
		Top: "ceiling of a run's stdout and stderr, each", By: "the agent, which reads both"},
		func(l *Limits) *Size { return &l.Output }, 1, 16*MiB, 64*MiB),
	bounded(Limit{Name: "scratch", Scope: OfSession, Help: "bytes of /box, /tmp and /dev/shm",
		Top: "ceiling of a run's files", By: "tmpfs size; RLIMIT_FSIZE for each file, if file_size is not less"},
		func(l *Limits) *Size { return &l.Scratch }, 4096, 64*MiB, 1*GiB),
	bounded(Limit{Name: "inodes", Scope: OfSession, Help: "number of files in /box, /tmp and /dev/shm",
		Top: "ceiling of a run's number of files", By: "tmpfs nr_inodes"},
		func(l *Limits) *int64 { return &l.Inodes }, 16, 10_000, 200_000),
	bounded(Limit{Name: "open_files", Scope: OfExec, Help: "descriptors of one process",
		Top: "ceiling of a process's descriptors", By: "RLIMIT_NOFILE"},
		func(l *Limits) *int64 { return &l.OpenFiles }, 3, 256, 4096),
	bounded(Limit{Name: "stack", Scope: OfExec, Help: "stack of the main thread",
		Otherwise: "as --memory", By: "RLIMIT_STACK"},
		func(l *Limits) *Size { return &l.Stack }, 64*KiB, 0, 0),
	bounded(Limit{Name: "swap", Scope: OfSession, Help: "swap beyond --memory", Otherwise: "none",
		Top: "ceiling of a run's swap (default: none)", By: "memory controller"},
		func(l *Limits) *Size { return &l.Swap }, 4096, 0, 0),
	bounded(Limit{Name: "address_space", Scope: OfExec, Help: "what one process may map, used or not",
		Otherwise: "none", Optional: true, Top: "ceiling of what a process may map, also of runs that set none (default: none)",
		By: "RLIMIT_AS"},
		func(l *Limits) *Size { return &l.AddressSpace }, MinMemory, 0, 0),
	bounded(Limit{Name: "data", Scope: OfExec, Help: "what one process may map privately and writable",
		Otherwise: "none", Optional: true, Top: "ceiling of what a process may map privately and writable, also of runs " +
			"that set none (default: none)", By: "RLIMIT_DATA"},
		func(l *Limits) *Size { return &l.Data }, MiB, 0, 0),
	bounded(Limit{Name: "file_size", Scope: OfExec, Help: "size of each file that a process writes",
		Otherwise: "as --scratch", Optional: true, Top: "ceiling of the size of each file, also of runs that set none " +
			"(default: none)", By: "RLIMIT_FSIZE"},
		func(l *Limits) *Size { return &l.FileSize }, KiB, 0, 0),
}

// bounded makes the row of a limit that is a number. Zero means that it is not set.
func bounded[T Duration | Size | int64 | float64](row Limit, field func(l *Limits) *T, minimum,
	standard, ceiling T) Limit {
	row.Least, row.Default, row.Ceiling = textOf(minimum), textOf(standard), textOf(ceiling)
	row.Field = func(l *Limits) any { return field(l) }
	row.isSet = func(l Limits) bool { return *field(&l) != 0 }
	row.text = func(l Limits) string { return fmt.Sprint(*field(&l)) }
	row.standard = func(l *Limits) { *field(l) = standard }
	row.top = func(l *Limits) { *field(l) = ceiling }
	row.fill = func(l *Limits, base Limits) {
		if v := field(l); *v == 0 {
			*v = *field(&base)
		}
	}

	// A ceiling of zero does not bound, except of swap: there it means none.
	bounds := func(top T) bool { return top != 0 || row.Name == "swap" }
	row.lower = func(l *Limits, ceiling Limits) {
		if top, v := *field(&ceiling), field(l); bounds(top) && (*v > top || row.Optional && *v == 0) {
			*v = top
		}
	}

	row.check = func(l Limits) error {
		v := *field(&l)
		if v == 0 || minimum == 0 || v >= minimum {
			return nil
		}
		return Refuse(CodeBadLimits, "limit %s is %s", row.Name, belowLeast(v, minimum))
	}

	row.within = func(l, ceiling Limits) error {
		v, top := *field(&l), *field(&ceiling)
		if !bounds(top) || v <= top {
			return nil
		}
		return Refuse(CodeAboveCeiling,
			"limit %s is %s, above this agent's ceiling of %s: ask for less, or have the operator raise it (brigd --max-%s)",
			row.Name, fmt.Sprint(v), fmt.Sprint(top), row.Flag())
	}

	return row
}

// listed makes the row of a limit that is a list, which has neither a smallest value nor, here, a
// ceiling: the agent alone knows which callers may select which processors.
func listed(row Limit, field func(l *Limits) *string) Limit {
	row.Field = func(l *Limits) any { return field(l) }
	row.isSet = func(l Limits) bool { return *field(&l) != "" }
	row.text = func(l Limits) string { return *field(&l) }
	row.standard, row.top = func(*Limits) {}, func(*Limits) {}
	row.fill = func(l *Limits, base Limits) {
		if v := field(l); *v == "" {
			*v = *field(&base)
		}
	}
	row.lower = func(*Limits, Limits) {}
	row.check = func(Limits) error { return nil }
	row.within = func(Limits, Limits) error { return nil }
	return row
}

// Above reports whether a limit is above a ceiling.
func (row Limit) Above(l, ceiling Limits) bool { return row.within(l, ceiling) != nil }

// Text returns the limit's value as text.
func (row Limit) Text(l Limits) string { return row.text(l) }

// Flag is the limit's name as a flag.
func (row Limit) Flag() string { return strings.ReplaceAll(row.Name, "_", "-") }

func textOf[T Duration | Size | int64 | float64](v T) string {
	if v == 0 {
		return ""
	}
	return fmt.Sprint(v)
}

// belowLeast describes a value and the smallest one. A small number of bytes was probably meant in
// megabytes, with the unit left out. A multiple of 1024 probably had the unit K: it gets no hint.
func belowLeast[T Duration | Size | int64 | float64](v, minimum T) string {
	if size, ok := any(v).(Size); ok && size > 0 && size < 4096 && size%1024 != 0 && T(size*MiB) >= minimum {
		return fmt.Sprintf("%v bytes: the least is %v: did you mean %dM?", v, minimum, int64(size))
	}
	return fmt.Sprintf("%v: the least is %v", v, minimum)
}
