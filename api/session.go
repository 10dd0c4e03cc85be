package api

import (
	"encoding/json"
	"time"
)

// A SessionRequest asks for a session: a sandbox of its own in which files and
// processes last while commands are executed in it. The zero value of every optional
// field is its default.
type SessionRequest struct {
	Language string `json:"language,omitempty" doc:"name of the language, or an alias; this or image is needed, and not both; an exec may bring source only where there is a language"`
	Image    string `json:"image,omitempty" doc:"name or digest (sha256:...) of a stored image, never a path of the host; this or language is needed, and not both"`

	Labels Labels            `json:"labels,omitzero" doc:"whose session it is; of a project and task there is one at a time"`
	Env    map[string]string `json:"env,omitempty" doc:"environment variables of every exec, over the language's"`

	Preset string `json:"preset,omitempty" doc:"a set of limits, below limits and exec_limits" enum:"hardened,light"`

	Limits     Limits `json:"limits,omitzero" doc:"of all that is in the session together, for its life: memory, swap, cpus, weight, cpuset, pids, scratch and inodes"`
	ExecLimits Limits `json:"exec_limits,omitzero" doc:"of an exec that asks for nothing else: wall, cpu, memory, cpus, pids, output, open_files and stack; of what both have, an exec gets at most the session's"`

	Idle Duration `json:"idle,omitempty" doc:"ends when nothing was asked of it for so long; zero means 5 minutes"`
	Life Duration `json:"life,omitempty" doc:"ends so long after it was made, whatever goes on; zero means 1 hour"`

	Volume *VolumeRequest `json:"volume,omitempty" doc:"what it is to have at /workspace; absent: nothing"`

	Network      string          `json:"network,omitempty" doc:"empty or none: no network but an unconfigured loopback" enum:"none"`
	WritableRoot bool            `json:"writable_root,omitempty" doc:"a throw-away layer over the image, writable by the program"`
	Profile      string          `json:"profile,omitempty" doc:"name of the seccomp profile; empty: the language's tier, or default"`
	ProfileMode  ProfileMode     `json:"profile_mode,omitempty" doc:"what becomes of the calls that the profile does not allow; empty: enforce"`
	ProfileRules json.RawMessage `json:"profile_rules,omitempty" doc:"a seccomp profile of the caller's own instead of a name; only root may send one to an agent"`
}

// The life-times of a session that asks for none, and the longest life where the
// operator has said nothing else (brigd --max-session-life).
const (
	SessionIdle    = Duration(5 * time.Minute)
	SessionLife    = Duration(time.Hour)
	SessionLifeMax = Duration(8 * time.Hour)
)

// SessionExecs is how many execs of a session may be under way at a time.
const SessionExecs = 8

// A Session is one that lives, as it is now. Asking does not count as using it.
type Session struct {
	ID       string       `json:"session_id" doc:"of the session"`
	State    SessionState `json:"state" doc:"whether it does something"`
	Language string       `json:"language,omitempty" doc:"that is in it"`
	Image    string       `json:"image" doc:"digest of the image"`
	Profile  string       `json:"profile" doc:"name of the seccomp profile"`
	Network  string       `json:"network" doc:"none: no network but an unconfigured loopback" enum:"none"`
	Labels   Labels       `json:"labels,omitzero" doc:"whose session it is"`

	Limits     Limits   `json:"limits" doc:"as enforced, of everything in it together"`
	ExecLimits Limits   `json:"exec_limits" doc:"of an exec that asks for none"`
	Idle       Duration `json:"idle" doc:"it ends when nothing was asked of it for so long"`
	Life       Duration `json:"life" doc:"it ends so long after it was made"`

	Created  string `json:"created" doc:"when it was made, RFC 3339, UTC"`
	IdleEnds string `json:"idle_ends,omitempty" doc:"when it ends if nothing is asked of it, RFC 3339, UTC; absent while something goes on"`
	Ends     string `json:"ends" doc:"when it ends whatever goes on, RFC 3339, UTC"`

	Volume *MountedVolume `json:"volume,omitempty" doc:"what it has at /workspace"`

	Execs   int64        `json:"execs" doc:"begun so far"`
	Running int          `json:"running" doc:"of the execs, those under way"`
	Usage   SessionUsage `json:"usage" doc:"what it holds and has used"`
}

// A SessionState says whether a session does something.
type SessionState string

// The states. One that has ended is not there any more: asking for it is the error
// session-ended, which says why.
const (
	SessionQuiet   SessionState = "idle"    // no exec is under way; what earlier ones left may run
	SessionRunning SessionState = "running" // at least one exec is
)

// SessionUsage is what a session holds and has used, all of its processes together:
// also those that execs have left running.
type SessionUsage struct {
	Memory     Figure `json:"memory_bytes" doc:"bytes of memory now: processes, and the files they have written"`
	MemoryPeak Figure `json:"memory_peak_bytes" doc:"most bytes of memory since it was made"`
	CPU        Figure `json:"cpu_ns" doc:"nanoseconds of processor time since it was made"`
	Processes  Figure `json:"processes" doc:"that there are now, with threads"`
	Scratch    int64  `json:"scratch_bytes" doc:"bytes of /box, /tmp and /dev/shm now"`
	Inodes     int64  `json:"inodes" doc:"files and directories in them now"`
}

// An Exec is one program executed in a session. Its answer is a Result, given when
// the main process has ended: what that has left running stays, until the session
// ends. Stopped by a limit, or by its caller, it is stopped whole.
type Exec struct {
	Source     Bytes    `json:"source,omitzero" doc:"the program's text in the session's language, put into /box; argv are then its arguments; given and empty, it is an empty program"` // nil: none
	SourceName string   `json:"source_name,omitempty" doc:"name that source gets in /box; empty: the language's own name for it"`
	Argv       []string `json:"argv,omitempty" doc:"without source the command, looked up in PATH; with it the program's arguments"`

	Stdin  Bytes             `json:"stdin,omitempty" doc:"what the program reads; empty: end of file at once"`
	Env    map[string]string `json:"env,omitempty" doc:"environment variables, over the session's"`
	Limits Limits            `json:"limits,omitzero" doc:"over the session's exec_limits"`

	Collect     Collect `json:"collect,omitzero" doc:"which files of /box come back; without globs none"`
	Interactive bool    `json:"interactive,omitempty" doc:"adds the language's interactive environment, such as unbuffered output"`
}

// A FileInfo is what lies under one name in /box, or in /workspace.
type FileInfo struct {
	Name       string   `json:"name" doc:"relative to /box, or to /workspace"`
	Kind       FileKind `json:"kind" doc:"only regular files can be read"`
	Size       int64    `json:"size" doc:"of a regular file, in bytes"`
	Executable bool     `json:"executable,omitempty" doc:"whether it has an x bit"`
}

// A FileKind says what a name is of. Only regular files can be read.
type FileKind string

// The kinds.
const (
	RegularFile FileKind = "file"
	Directory   FileKind = "directory"
	Symlink     FileKind = "symlink"
	OtherFile   FileKind = "other" // a FIFO or a socket
)

// A FileList is what lies below a directory, in the order of a walk.
type FileList struct {
	Files   []FileInfo `json:"files" doc:"in the order of a walk"`
	Skipped []Skipped  `json:"skipped,omitempty" doc:"what could not be listed, and why"`
	More    bool       `json:"more,omitempty" doc:"there is more than a list may have"`
}

// ListFilesMax is the most entries of a FileList, and ListFilesBytes about the most bytes
// that their names take in JSON, together.
const (
	ListFilesMax   = 10_000
	ListFilesBytes = 1 << 20
)
