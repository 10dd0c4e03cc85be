package plan

import (
	"cmp"
	"math"

	"github.com/brig-sandbox/brig/api"
)

// EffectiveLimits fills in what the request leaves open from the preset, the language and the
// defaults, in this order, and checks the result against the ceiling. A default above the ceiling
// is lowered to it; a requested value above it is refused.
//
// It takes valid limits, and so its own are valid: each field is that of one of them
// (TestEffectiveLimitsOfValidLimitsAreValid). Those of a request are checked when it arrives, those of
// a language when its manifest is read, and the ceiling when the agent starts.
func EffectiveLimits(wish api.Limits, preset string, language, ceiling api.Limits) (api.Limits, error) {
	base, err := api.Preset(preset)
	if err != nil {
		return api.Limits{}, err
	}

	asked := wish.Over(base)
	if err := asked.Within(ceiling); err != nil {
		return api.Limits{}, err
	}

	l := asked.Over(language.Over(api.Defaults()).CappedBy(ceiling)).Resolve()
	if ceiling.CPU != 0 && asked.CPU == 0 {
		l.CPU = min(l.CPU, ceiling.CPU)
	}
	return l, nil
}

// An RLimit is a resource limit of a process, soft and hard; see getrlimit(2).
type RLimit struct {
	Name  string // such as RLIMIT_NOFILE
	Value uint64
}

// RLimits are the limits that each process of a run has itself. Those of its address space and of its data are among
// them only if the run asks for them, because runtimes reserve far more than they use (MEM-02). RLIMIT_CPU is a
// backstop in whole seconds behind the agent's own clock; zero: twice the cpu limit. The kernel compares it with time that it counts in
// ticks (kernel/time/posix-cpu-timers.c, check_process_timers), each of which is the process's as a whole: on a
// loaded host a compiler that had used 28.1 s by the group's counter had used 32 s of ticks, and was killed below
// its limit of 30 s.
func RLimits(l api.Limits, backstop api.Duration, volume api.Size) []RLimit {
	fileSize, _ := MaxFile(l, volume)
	limits := []RLimit{
		{"RLIMIT_NOFILE", uint64(l.OpenFiles)},
		{"RLIMIT_STACK", uint64(l.Stack)},
		{"RLIMIT_FSIZE", uint64(fileSize)},
		{"RLIMIT_CPU", uint64(math.Ceil(float64(cmp.Or(backstop, 2*l.CPU))/1e9)) + 2},
	}
	if l.AddressSpace > 0 {
		limits = append(limits, RLimit{"RLIMIT_AS", uint64(l.AddressSpace)})
	}
	if l.Data > 0 {
		limits = append(limits, RLimit{"RLIMIT_DATA", uint64(l.Data)})
	}
	return limits
}

// MaxFile is the largest file that a process may write: as large as scratch or as the volume, unless the
// limit on file sizes, own, is lower or the same.
func MaxFile(l api.Limits, volume api.Size) (size api.Size, own bool) {
	size = max(l.Scratch, volume)
	if l.FileSize > 0 && l.FileSize <= size {
		return l.FileSize, true
	}
	return size, false
}

// CellRLimits apply to everything in a cell, in addition to those of a run.
func CellRLimits() []RLimit {
	return []RLimit{
		// A core dump would outlive the run (PRC-09). One byte is too little for a file, and is the
		// only limit that keeps a core_pattern that is a pipe from being started, as the host's root;
		// zero does not do that (fs/coredump.c, do_coredump).
		{"RLIMIT_CORE", 1},
		{"RLIMIT_MEMLOCK", 64 << 10},
		{"RLIMIT_MSGQUEUE", 0}, // POSIX queues are kernel memory
		{"RLIMIT_NICE", 0},
		{"RLIMIT_RTPRIO", 0},
		{"RLIMIT_SIGPENDING", 1024}, // CPU-17
	}
}
