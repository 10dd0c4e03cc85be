package api

import "encoding/json"

// A Result says how a run ended, with the evidence for it.
type Result struct {
	Run     string  `json:"run_id" doc:"id of the run"`
	Verdict Verdict `json:"verdict" doc:"how the program ended; with tests, the worst verdict of all tests"`
	Stage   Stage   `json:"stage" doc:"the part of the run that the verdict and the other fields describe"`

	ExitCode   int    `json:"exit_code" doc:"exit code of the main process; -1 if a signal ended it; with tests, that of the first test with the verdict"`
	Signal     int    `json:"signal,omitempty" doc:"signal that ended the main process"`
	SignalName string `json:"signal_name,omitempty" doc:"such as SIGSEGV"`

	LimitsHit []string  `json:"limits_hit" doc:"every limit met, decisive or not" enum:"wall,cpu,memory,pids,output,scratch,inodes,open_files,file_size"`
	Denial    *Denial   `json:"denial,omitempty" doc:"the system call behind a denied verdict"`
	Logged    []Denial  `json:"logged,omitempty" doc:"in profile mode log, the calls that enforce would have denied or refused"`
	Refused   []Refusal `json:"refused,omitempty" doc:"system calls that the profile refused with an error, which the program may have ignored"`
	Usage     Usage     `json:"usage" doc:"resource usage of the run; with tests, the sum or the maximum"`
	Timing    Timing    `json:"timing" doc:"duration of the parts of the run"`
	Timeline  *Timeline `json:"timeline,omitempty" doc:"what the run used over time, if the request asked for it; a compile stage has none"`

	Stdout          Bytes `json:"stdout" doc:"what the program wrote to stdout"`
	Stderr          Bytes `json:"stderr" doc:"what the program wrote to stderr"`
	StdoutTruncated bool  `json:"stdout_truncated,omitempty" doc:"stdout was cut, at the output limit or at the maximum for an answer in one piece"`
	StderrTruncated bool  `json:"stderr_truncated,omitempty" doc:"stderr was cut, at the output limit or at the maximum for an answer in one piece"`
	StderrMerged    bool  `json:"stderr_merged,omitempty" doc:"the request had merge_stderr: stdout has what the program wrote to stderr, too"`

	Files   []File    `json:"files,omitempty" doc:"files of /box that collect selects"`
	Skipped []Skipped `json:"skipped,omitempty" doc:"files that were not collected, and why"`

	Compile *Compilation `json:"compile,omitempty" doc:"the compile stage before this one, if the language has one and it succeeded; if it failed, the verdict is compile-error and the fields above describe the compiler"`

	Tests   []TestResult `json:"tests,omitempty" doc:"how each test ended, in the order of the request"`
	Summary *Summary     `json:"summary,omitempty" doc:"summary of the tests"`

	Network *NetworkUsage `json:"network,omitempty" doc:"what a run with network reached and was refused"`

	Packages *PackageSet `json:"packages,omitempty" doc:"the packages that the run could use, or, of an installation, that were installed"`

	Diagnosis *Diagnosis `json:"diagnosis,omitempty" doc:"why the run failed, explained for beginners"`

	SessionEnded string `json:"session_ended,omitempty" doc:"for an exec that was canceled because its session ended: why the session ended"`

	Findings []Finding `json:"findings,omitempty" doc:"findings in the program's source, with check=warn"`

	Limits Limits `json:"limits" doc:"as enforced"`
	Host   Host   `json:"host,omitzero" doc:"where and under which rules the run took place"`
	Labels Labels `json:"labels,omitzero" doc:"as in the request"`
}

// A RawResult is a Result whose tests may still be JSON. They are most of a result, and a program that passes
// results on does not read them.
type RawResult struct {
	Result
	Tests json.RawMessage `json:"tests,omitempty"` // nil: Result has them
}

// A Compilation is a compile stage that succeeded.
type Compilation struct {
	Key             string `json:"key" doc:"key of the artifacts; equal for equal image, command, environment and inputs"`
	Cached          bool   `json:"cached" doc:"no compiler was started; the other fields are from the earlier run of the compiler"`
	Stdout          Bytes  `json:"stdout,omitempty" doc:"what the compiler wrote to stdout"`
	Stderr          Bytes  `json:"stderr,omitempty" doc:"what the compiler wrote to stderr, such as warnings"`
	StdoutTruncated bool   `json:"stdout_truncated,omitempty" doc:"stdout was cut, at the output limit or at the maximum for an answer in one piece"`
	StderrTruncated bool   `json:"stderr_truncated,omitempty" doc:"stderr was cut, at the output limit or at the maximum for an answer in one piece"`
	Usage           Usage  `json:"usage" doc:"resource usage of the compiler"`
	Timing          Timing `json:"timing" doc:"how long it took"`
	Limits          Limits `json:"limits" doc:"as enforced on the compiler"`
	Size            int64  `json:"artifact_bytes" doc:"bytes of the artifacts"`
}

// A Denial is one system call that the profile forbids.
type Denial struct {
	Syscall string `json:"syscall" doc:"name of the system call, or syscall_N if it has none"`
	Number  int    `json:"number" doc:"number of the system call"`
	Arch    string `json:"arch" doc:"architecture of the call, such as x86_64; i386 or x32 for a call through another ABI"`
	Rule    string `json:"rule" doc:"the rule and its profile"`
	Why     string `json:"why" doc:"the rule's reason"`
	Allowed bool   `json:"allowed,omitempty" doc:"the call was allowed because of profile mode log"`
	Count   int64  `json:"count,omitempty" doc:"number of calls, in profile mode log"`
}

// A Refusal is one kind of system call that the profile refused with an error, while the
// program went on. Errors that mean that the kernel has no such call or option (ENOSYS,
// EINVAL, ENOTTY, EOPNOTSUPP) are not reported: libraries try such calls and do without.
type Refusal struct {
	Syscall string `json:"syscall" doc:"name of the system call; others: all further kinds together"`
	Profile string `json:"profile" doc:"the profile that refused it"`
	Errno   string `json:"errno,omitempty" doc:"the error, such as EPERM; ENOLCK: the run held its maximum of record locks"`
	Count   int64  `json:"count" doc:"how often"`
}

// Usage is the resource usage of a run. Every figure names its source in the kernel; an unknown
// figure is null, never zero.
type Usage struct {
	CPU          Measurement `json:"cpu_ns" doc:"nanoseconds of processor time of all processes, user and system"`
	User         Measurement `json:"user_ns" doc:"nanoseconds of user time of the main process and its reaped children"`
	System       Measurement `json:"system_ns" doc:"nanoseconds of system time of the main process and its reaped children"`
	Memory       Measurement `json:"memory_bytes" doc:"peak memory of the group, in bytes"`
	MaxRSS       Measurement `json:"max_rss_bytes" doc:"largest resident size, in bytes, of the main process or a reaped child"`
	Pids         Measurement `json:"pids_peak" doc:"peak number of processes and threads"`
	OOMKills     Measurement `json:"oom_kills" doc:"processes that the kernel killed because of the memory limit"`
	ForksRefused Measurement `json:"forks_refused" doc:"forks refused by the limit pids"`
	StdoutBytes  int64       `json:"stdout_bytes" doc:"bytes that the program wrote, stored or not"`
	StderrBytes  int64       `json:"stderr_bytes" doc:"bytes that the program wrote, stored or not"`

	TemplateBytes int64 `json:"template_bytes,omitempty" doc:"size of the template that the run began from; what it did not write to is not in memory_bytes"`
}

// LiveUsage is the resource usage of a run so far. A Wall of zero means that the program has not
// started.
type LiveUsage struct {
	Wall        int64       `json:"wall_ns" doc:"nanoseconds since exec; zero: the program has not started"`
	CPU         Measurement `json:"cpu_ns" doc:"nanoseconds of processor time so far"`
	Memory      Measurement `json:"memory_bytes" doc:"peak memory so far, in bytes"`
	StdoutBytes int64       `json:"stdout_bytes" doc:"bytes that the program has written so far, stored or not"`
	StderrBytes int64       `json:"stderr_bytes" doc:"bytes that the program has written so far, stored or not"`
}

// A Measurement is a measured number with the file or call that it was read from.
type Measurement struct {
	Value  *int64 `json:"value" doc:"the number; null if unknown"`
	Source string `json:"source" doc:"the kernel file or call that it was read from, such as cpuacct.usage or wait4; if there is no value, the reason"`
}

// or returns the figure, or v if it is unknown.
func (f Measurement) or(v int64) int64 {
	if f.Value == nil {
		return v
	}
	return *f.Value
}

// Known makes a figure that was read from source.
func Known(v int64, source string) Measurement { return Measurement{&v, source} }

// Unknown makes a figure without a value, and says why it has none.
func Unknown(why string) Measurement { return Measurement{nil, why} }

// Timing divides the time between a request and its answer into parts; all in nanoseconds of the
// monotonic clock.
type Timing struct {
	Queued  int64  `json:"queued_ns" doc:"nanoseconds of waiting for a slot"`
	SetUp   int64  `json:"set_up_ns" doc:"nanoseconds from the slot to exec"`
	Wall    int64  `json:"wall_ns" doc:"nanoseconds from exec to the main process's exit"`
	Finish  int64  `json:"finish_ns" doc:"nanoseconds from exit to the answer: emptying the group, collecting files"`
	Killed  int64  `json:"killed_ns,omitempty" doc:"nanoseconds from exec to the SIGKILL that brig sent; absent: brig sent none"`
	Started string `json:"started" doc:"time of exec, RFC 3339, UTC"`
}

// NoSuchFile is the reason in Skipped for a glob that no file matches.
const NoSuchFile = "no file has such a name"

// Skipped is a file of /box that was not collected, and the reason.
type Skipped struct {
	Name   string `json:"name" doc:"name of the file"`
	Reason string `json:"reason" doc:"why it was skipped"`
}

// Host says where and under which rules the run took place, so that its measurements can be judged
// later.
type Host struct {
	Kernel     string `json:"kernel" doc:"kernel release, as in uname -r"`
	CgroupMode string `json:"cgroup_mode" doc:"which control groups the host has" enum:"v2,v1,hybrid"`
	Mode       Mode   `json:"mode" doc:"how isolated the run was from other runs"`
	Image      string `json:"image" doc:"digest of the image"`
	Profile    string `json:"profile" doc:"name of the seccomp profile"`
	PolicyHash string `json:"policy_hash" doc:"hash of the seccomp rules and the sandbox's configuration"`
	Brig       string `json:"brig_version" doc:"version of the agent"`

	Template bool   `json:"template,omitempty" doc:"the run began from a template of the started interpreter"`
	Cold     string `json:"cold,omitempty" doc:"why the run had the ordinary start, if its language has templates"`
}
