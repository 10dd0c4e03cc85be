package api

// A Result is how a run ended, and what that rests on.
type Result struct {
	Run     string  `json:"run_id" doc:"id of the run"`
	Verdict Verdict `json:"verdict" doc:"how the program ended; of tests the worst of theirs"`
	Stage   Stage   `json:"stage" doc:"the part of the run that the verdict and the fields beside it are of"`

	ExitCode   int    `json:"exit_code" doc:"of the main process; -1 when a signal ended it; of tests that of the first with the verdict"`
	Signal     int    `json:"signal,omitempty" doc:"that ended the main process"`
	SignalName string `json:"signal_name,omitempty" doc:"such as SIGSEGV"`

	LimitsHit []string  `json:"limits_hit" doc:"every limit met, decisive or not" enum:"wall,cpu,memory,pids,output,scratch,inodes,open_files"`
	Denial    *Denial   `json:"denial,omitempty" doc:"the system call behind a denied verdict"`
	Logged    []Denial  `json:"logged,omitempty" doc:"profile mode log: what enforce would have denied or refused"`
	Refused   []Refusal `json:"refused,omitempty" doc:"system calls that the profile refused with an error, which the program may have met silently"`
	Usage     Usage     `json:"usage" doc:"what the run used; of tests their sum or most"`
	Timing    Timing    `json:"timing" doc:"how long its parts took"`

	Stdout          Bytes `json:"stdout" doc:"what the program wrote to stdout"`
	Stderr          Bytes `json:"stderr" doc:"what the program wrote to stderr"`
	StdoutTruncated bool  `json:"stdout_truncated,omitempty" doc:"there was more on stdout: above the limit of output, or above what an answer in one piece carries"`
	StderrTruncated bool  `json:"stderr_truncated,omitempty" doc:"there was more on stderr: above the limit of output, or above what an answer in one piece carries"`

	Files   []File    `json:"files,omitempty" doc:"of /box, that collect asks for"`
	Skipped []Skipped `json:"skipped,omitempty" doc:"files that were not collected, and why"`

	Compile *Compilation `json:"compile,omitempty" doc:"the compile stage before this one, where the language has one and it succeeded; when it did not, the verdict is compile-error and the fields above are the compiler's"`

	Tests   []TestResult `json:"tests,omitempty" doc:"how each test ended, in the order of the request"`
	Summary *Summary     `json:"summary,omitempty" doc:"what the tests come to"`

	Diagnosis *Diagnosis `json:"diagnosis,omitempty" doc:"why the run failed, in a beginner's words"`

	SessionEnded string `json:"session_ended,omitempty" doc:"why the session of a canceled exec ended, and the exec with it"`

	Findings []Finding `json:"findings,omitempty" doc:"of the program's source, with check=warn"`

	Limits Limits `json:"limits" doc:"as enforced"`
	Host   Host   `json:"host,omitzero" doc:"where and under which rules the run took place"`
	Labels Labels `json:"labels,omitzero" doc:"as in the request"`
}

// A Compilation is a compile stage that succeeded.
type Compilation struct {
	Key             string `json:"key" doc:"of the artifacts: the same image, command, environment and inputs have the same"`
	Cached          bool   `json:"cached" doc:"no compiler was started: what follows is of the run that did"`
	Stdout          Bytes  `json:"stdout,omitempty" doc:"what the compiler wrote to stdout"`
	Stderr          Bytes  `json:"stderr,omitempty" doc:"what the compiler wrote to stderr, such as warnings"`
	StdoutTruncated bool   `json:"stdout_truncated,omitempty" doc:"there was more on stdout: above the limit of output, or above what an answer in one piece carries"`
	StderrTruncated bool   `json:"stderr_truncated,omitempty" doc:"there was more on stderr: above the limit of output, or above what an answer in one piece carries"`
	Usage           Usage  `json:"usage" doc:"what the compiler used"`
	Timing          Timing `json:"timing" doc:"how long it took"`
	Limits          Limits `json:"limits" doc:"as enforced on the compiler"`
	Size            int64  `json:"artifact_bytes" doc:"bytes of the artifacts"`
}

// A Denial is one system call the profile forbids.
type Denial struct {
	Syscall string `json:"syscall" doc:"name of the system call, or syscall_N when it has none"`
	Number  int    `json:"number" doc:"of the system call"`
	Arch    string `json:"arch" doc:"such as x86_64; i386 or x32 for a foreign entry"`
	Rule    string `json:"rule" doc:"which rule of which profile"`
	Why     string `json:"why" doc:"the rule's reason"`
	Allowed bool   `json:"allowed,omitempty" doc:"profile mode log let it go on"`
	Count   int64  `json:"count,omitempty" doc:"how often, in profile mode log"`
}

// A Refusal is one kind of system call that the profile refused with an error, while the
// program went on. Errors that mean that the kernel has no such call or option (ENOSYS,
// EINVAL, ENOTTY, EOPNOTSUPP) are not told: libraries try such calls and do without.
type Refusal struct {
	Syscall string `json:"syscall" doc:"name of the system call; others: further kinds, together"`
	Profile string `json:"profile" doc:"the profile that refused it"`
	Errno   string `json:"errno,omitempty" doc:"the error, such as EPERM; ENOLCK: the run held as many record locks as it may"`
	Count   int64  `json:"count" doc:"how often"`
}

// Usage is what the run consumed. Every figure names the kernel's source for it;
// a figure nobody can give here is null, never zero.
type Usage struct {
	CPU          Figure `json:"cpu_ns" doc:"nanoseconds of processor time of all processes, user and system"`
	User         Figure `json:"user_ns" doc:"nanoseconds of user time of the main process and its reaped children"`
	System       Figure `json:"system_ns" doc:"nanoseconds of system time of the main process and its reaped children"`
	Memory       Figure `json:"memory_bytes" doc:"most bytes of memory of the group at a time"`
	MaxRSS       Figure `json:"max_rss_bytes" doc:"largest resident size, in bytes, of the main process or a reaped child"`
	Pids         Figure `json:"pids_peak" doc:"most processes and threads at a time"`
	OOMKills     Figure `json:"oom_kills" doc:"processes that the kernel killed for memory"`
	ForksRefused Figure `json:"forks_refused" doc:"by the limit of pids"`
	StdoutBytes  int64  `json:"stdout_bytes" doc:"written by the program, kept or not"`
	StderrBytes  int64  `json:"stderr_bytes" doc:"written by the program, kept or not"`
}

// LiveUsage is what a run has used so far. The zero value of Wall means that the
// program has not begun.
type LiveUsage struct {
	Wall        int64  `json:"wall_ns" doc:"nanoseconds since exec; zero: the program has not begun"`
	CPU         Figure `json:"cpu_ns" doc:"nanoseconds of processor time so far"`
	Memory      Figure `json:"memory_bytes" doc:"bytes of memory, the peak so far"`
	StdoutBytes int64  `json:"stdout_bytes" doc:"written by the program so far, kept or not"`
	StderrBytes int64  `json:"stderr_bytes" doc:"written by the program so far, kept or not"`
}

// A Figure is a number with the file or call it was read from.
type Figure struct {
	Value  *int64 `json:"value" doc:"the number; null where nobody knows it"`
	Source string `json:"source" doc:"the kernel's file or call it was read from, such as cpuacct.usage or wait4; why, when there is no value"`
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
	Queued  int64  `json:"queued_ns" doc:"nanoseconds of waiting for a slot"`
	SetUp   int64  `json:"set_up_ns" doc:"nanoseconds from the slot to exec"`
	Wall    int64  `json:"wall_ns" doc:"nanoseconds from exec to the main process's exit"`
	Finish  int64  `json:"finish_ns" doc:"nanoseconds from exit to the answer: emptying the group, collecting files"`
	Killed  int64  `json:"killed_ns,omitempty" doc:"nanoseconds from exec to the SIGKILL that brig sent; absent: brig sent none"`
	Started string `json:"started" doc:"when exec was, RFC 3339, UTC"`
}

// Skipped is a file of /box that was not collected, and the reason.
type Skipped struct {
	Name   string `json:"name" doc:"of the file"`
	Reason string `json:"reason" doc:"why it was skipped"`
}

// Host says where and under which rules the run took place, so that a figure can
// be judged later.
type Host struct {
	Kernel     string `json:"kernel" doc:"as uname -r has it"`
	CgroupMode string `json:"cgroup_mode" doc:"which control groups the host has" enum:"v2,v1,hybrid"`
	Mode       Mode   `json:"mode" doc:"how much was shared with other runs"`
	Image      string `json:"image" doc:"digest of the image"`
	Profile    string `json:"profile" doc:"name of the seccomp profile"`
	PolicyHash string `json:"policy_hash" doc:"of the seccomp rules and the sandbox's configuration"`
	Brig       string `json:"brig_version" doc:"version of the agent"`
}
