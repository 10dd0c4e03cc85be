package api

// A Result is how a run ended, and what that rests on.
type Result struct {
	Run     string  `json:"run_id"`
	Verdict Verdict `json:"verdict"`
	Stage   Stage   `json:"stage"`

	// Of tests, these and the denial are those of the Decisive one.
	ExitCode   int    `json:"exit_code"`             // of the main process; -1 when a signal ended it
	Signal     int    `json:"signal,omitempty"`      // that ended it, or 0
	SignalName string `json:"signal_name,omitempty"` // such as SIGSEGV

	LimitsHit []string `json:"limits_hit"`       // every limit met, decisive or not
	Denial    *Denial  `json:"denial,omitempty"` // the call behind a denied verdict
	Logged    []Denial `json:"logged,omitempty"` // profile mode log: what enforce would have denied
	Usage     Usage    `json:"usage"`
	Timing    Timing   `json:"timing"`

	Stdout          Bytes `json:"stdout"`
	Stderr          Bytes `json:"stderr"`
	StdoutTruncated bool  `json:"stdout_truncated,omitempty"` // it met Limits.Output
	StderrTruncated bool  `json:"stderr_truncated,omitempty"`

	Files   []File    `json:"files,omitempty"`
	Skipped []Skipped `json:"skipped,omitempty"`

	// Compile is the stage before this one, where the language has one and it
	// succeeded. When it did not, the verdict is compile-error and the fields above
	// are the compiler's.
	Compile *Compilation `json:"compile,omitempty"`

	// Tests are in the order of the request, and Summary is what they come to. The
	// verdict above is then the worst of theirs, and usage their sum or most; what
	// one test did is in its own result.
	Tests   []TestResult `json:"tests,omitempty"`
	Summary *Summary     `json:"summary,omitempty"`

	// Diagnosis is filled in by who shows a failed result to a person: the command
	// line, the gateway. An agent leaves it nil.
	Diagnosis *Diagnosis `json:"diagnosis,omitempty"`

	// SessionEnded is why the session of a canceled exec ended, and the exec with it.
	SessionEnded string `json:"session_ended,omitempty"`

	// Findings are of the program's source, where a caller of the public service asked
	// for a check. Agents send none.
	Findings []Finding `json:"findings,omitempty"`

	Limits Limits `json:"limits"` // as enforced
	Host   Host   `json:"host,omitzero"`
	Labels Labels `json:"labels,omitzero"`
}

// A Compilation is a compile stage that succeeded.
type Compilation struct {
	Key             string `json:"key"`    // of the artifacts: the same image, command, environment and inputs have the same
	Cached          bool   `json:"cached"` // no compiler was started; what follows is of the run that did
	Stdout          Bytes  `json:"stdout,omitempty"`
	Stderr          Bytes  `json:"stderr,omitempty"` // warnings
	StdoutTruncated bool   `json:"stdout_truncated,omitempty"`
	StderrTruncated bool   `json:"stderr_truncated,omitempty"`
	Usage           Usage  `json:"usage"`
	Timing          Timing `json:"timing"`
	Limits          Limits `json:"limits"`
	Size            int64  `json:"artifact_bytes"`
}

// A Denial is one system call the profile forbids.
type Denial struct {
	Syscall string `json:"syscall"` // name, or "syscall_N" when it has none
	Number  int    `json:"number"`
	Arch    string `json:"arch"`              // such as x86_64; i386 or x32 for a foreign entry
	Rule    string `json:"rule"`              // which rule of which profile
	Why     string `json:"why"`               // the rule's reason
	Allowed bool   `json:"allowed,omitempty"` // profile mode log let it go on
}

// Usage is what the run consumed. Every figure names the kernel's source for it;
// a figure nobody can give here is null, never zero.
type Usage struct {
	CPU          Figure `json:"cpu_ns"`  // all processes, user and system
	User         Figure `json:"user_ns"` // of the main process and its reaped children
	System       Figure `json:"system_ns"`
	Memory       Figure `json:"memory_bytes"`  // peak of the group
	MaxRSS       Figure `json:"max_rss_bytes"` // largest resident size of the main process or a reaped child
	Pids         Figure `json:"pids_peak"`
	OOMKills     Figure `json:"oom_kills"`
	ForksRefused Figure `json:"forks_refused"` // by the pids limit
	StdoutBytes  int64  `json:"stdout_bytes"`  // written by the program, kept or not
	StderrBytes  int64  `json:"stderr_bytes"`
}

// LiveUsage is what a run has used so far. The zero value of Wall means that the
// program has not begun.
type LiveUsage struct {
	Wall        int64  `json:"wall_ns"`
	CPU         Figure `json:"cpu_ns"`
	Memory      Figure `json:"memory_bytes"` // peak so far
	StdoutBytes int64  `json:"stdout_bytes"`
	StderrBytes int64  `json:"stderr_bytes"`
}

// A Figure is a number with the file or call it was read from.
type Figure struct {
	Value  *int64 `json:"value"`
	Source string `json:"source"` // such as cpuacct.usage or wait4; why, when there is no value
}

// or gives the figure, or v where nobody knows it.
func (f Figure) or(v int64) int64 {
	if f.Value == nil {
		return v
	}
	return *f.Value
}

// Known makes a figure read from source.
func Known(v int64, source string) Figure { return Figure{&v, source} }

// Unknown makes a figure that cannot be had, and says why.
func Unknown(why string) Figure { return Figure{nil, why} }

// Timing splits the time between a request and its answer; all in nanoseconds of
// the monotonic clock.
type Timing struct {
	Queued  int64  `json:"queued_ns"`           // waiting for a slot: an exec of a session in the agent, a run in a gateway
	SetUp   int64  `json:"set_up_ns"`           // from the slot to exec
	Wall    int64  `json:"wall_ns"`             // from exec to the main process's exit
	Finish  int64  `json:"finish_ns"`           // from exit to the answer: emptying the group, collecting files
	Killed  int64  `json:"killed_ns,omitempty"` // from exec to the SIGKILL that brig sent; zero: brig sent none
	Started string `json:"started"`             // RFC 3339, UTC, of the exec
}

// Skipped is a file of /box that was not collected, and the reason.
type Skipped struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

// Host says where and under which rules the run took place, so that a figure can
// be judged later.
type Host struct {
	Kernel     string `json:"kernel"`      // uname -r
	CgroupMode string `json:"cgroup_mode"` // v2, v1 or hybrid
	Mode       Mode   `json:"mode"`
	Image      string `json:"image"`       // digest
	Profile    string `json:"profile"`     // name
	PolicyHash string `json:"policy_hash"` // of the seccomp rules and the cell's configuration
	Brig       string `json:"brig_version"`
}
