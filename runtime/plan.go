package runtime

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	groups "github.com/brig-sandbox/brig/cgroups"
)

// A plan is one run, decided: everything that the run steps apply. It is made from the request, the
// language and the operator's ceiling without touching anything.
type Run struct {
	ID          string
	Again       time.Duration // Streams.Again
	Stage       api.Stage
	Cell        cellPlan
	Once        bool // the cell serves this run only
	Mode        api.Mode
	Argv, Env   []string
	Files       []api.File
	Source      string     // of files, the name of the file that is the program's source; empty: none
	Built       []api.File // artifacts of the compile stage, placed in addition to files
	Stdin       []byte
	Limits      api.Limits // complete
	Collect     api.Collect
	Artifacts   []string // of a compile stage: what is collected instead
	Syntax      bool     // a compile stage that makes nothing: it only checks the source
	Labels      api.Labels
	MaxKept     [2]api.Size // maximum of stdout and stderr that the result carries; zero: maxRetainedOutput
	OOMExitCode int         // a language's own out-of-memory exit code; 0: none
	OOMMessage  string      // what its runtime prints then; empty: nothing
	Volume      api.Size    // size of the session's volume; a file may be as large

	// backstop is the processor time after which the kernel kills a single process; zero: derived
	// from the cpu limit. It may be higher for an exec, because what the exec leaves running may
	// use more.
	Backstop api.Duration
}

// outOfHeap reports whether a program that ended by itself was ended by its runtime for lack of
// memory: with the exit code that the language's manifest declares, and in addition either with the
// declared text at the end of stderr, or near the limit. A program that prints this and exits so
// without need has failed as well, only under another name.
func (p *Run) OutOfHeap(ev api.Evidence, stderrEnd []byte) bool {
	switch {
	case p.OOMExitCode == 0 || ev.Signal != 0 || ev.ExitCode != p.OOMExitCode:
		return false
	case p.OOMMessage != "":
		return bytes.Contains(stderrEnd, []byte(p.OOMMessage))
	}
	return p.Limits.Memory > 0 && ev.Peak >= p.Limits.Memory/10*9
}

// basicEnv is the environment of every run, before the language's and the caller's variables: none
// of the agent's own variables get in (CAP-10).
var basicEnv = map[string]string{
	"PATH":   "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
	"HOME":   "/box",
	"TMPDIR": "/tmp",
	"LANG":   "C.UTF-8",
}

// environment merges the three in sorted order; later ones take precedence.
func Environment(language, caller map[string]string) []string {
	all := maps.Clone(basicEnv)
	maps.Copy(all, language)
	maps.Copy(all, caller)
	var env []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		env = append(env, name+"="+all[name])
	}
	return env
}

// effectiveLimits fills in what the request leaves open from the preset, the language and the
// defaults, in this order, and checks the result against the ceiling. A default above the ceiling
// is lowered to it; a requested value above it is refused.
func EffectiveLimits(wish api.Limits, preset string, language, ceiling api.Limits) (api.Limits, error) {
	base, err := api.Preset(preset)
	if err != nil {
		return api.Limits{}, err
	}
	asked := wish.Over(base)
	if err := asked.Validate(); err != nil {
		return api.Limits{}, err
	}
	if err := asked.Within(ceiling); err != nil {
		return api.Limits{}, err
	}
	l := asked.Over(language.Over(api.Defaults()).CappedBy(ceiling)).Resolve()
	if ceiling.CPU != 0 && asked.CPU == 0 {
		l.CPU = min(l.CPU, ceiling.CPU)
	}
	return l, l.Validate()
}

// rlimits are the limits that each process has itself. The address space is not among them:
// runtimes reserve far more than they use (MEM-02). RLIMIT_CPU is a backstop in whole seconds
// behind the agent's own clock.
func rlimits(l api.Limits, backstop api.Duration, volume api.Size) []wireLimit {
	both := func(resource int, v uint64) wireLimit {
		return wireLimit{Resource: uint32(resource), Soft: v, Hard: v}
	}
	return []wireLimit{
		both(unix.RLIMIT_NOFILE, uint64(l.OpenFiles)),
		both(unix.RLIMIT_STACK, uint64(l.Stack)),
		both(unix.RLIMIT_FSIZE, uint64(max(l.Scratch, volume))),
		both(unix.RLIMIT_CPU, uint64(math.Ceil(float64(cmp.Or(backstop, l.CPU))/1e9))+2),
	}
}

// groupLimits are the limits of the group of a run or of a session. cpuset is used when the limits
// name no processors; empty: all of the agent's.
func groupLimits(l api.Limits, cpuset string) groups.Limits {
	cpuset = cmp.Or(l.Cpuset, cpuset)
	if ablated(offMemory) {
		l.Memory, l.Swap = 0, 0
	}
	if ablated(offPids) {
		l.Pids = 0
	}
	return groups.Limits{
		MemoryBytes: int64(l.Memory), SwapBytes: int64(l.Swap), CPUs: l.CPUs, Weight: l.Weight, Pids: l.Pids, Cpuset: cpuset,
	}
}

// sourceFile adds the source to the files under its name.
func sourceFile(r api.Run, name string) ([]api.File, error) {
	if r.Source == nil {
		return r.Files, nil
	}
	for _, f := range r.Files {
		if f.Name == name {
			return nil, api.Refuse(api.CodeBadFile, "file %q has the same name as the file of the source: rename it or set source_name", name)
		}
	}
	return append(slices.Clone(r.Files), api.File{Name: name, Content: r.Source}), nil
}

// cachePath reports whether a file belongs to an interpreter's cache, whose files are not collected
// unless requested.
func cachePath(name string) bool {
	for part := range strings.SplitSeq(path.Dir(name), "/") {
		if part == "__pycache__" || part == ".cache" || part == "node_modules" {
			return true
		}
	}
	return false
}

// parseCPUs reads a kernel processor list such as "0-1,3".
func ParseCPUs(list string) ([]int, error) {
	var cpus []int
	for part := range strings.SplitSeq(strings.TrimSpace(list), ",") {
		lo, hi, ranged := strings.Cut(part, "-")
		first, err := strconv.Atoi(lo)
		last := first
		if err == nil && ranged {
			last, err = strconv.Atoi(hi)
		}
		if err != nil || first < 0 || last < first || last >= 1024 {
			return nil, fmt.Errorf("processor list %q: write it as 0-1,3", list)
		}
		for c := first; c <= last; c++ {
			cpus = append(cpus, c)
		}
	}
	return cpus, nil
}
