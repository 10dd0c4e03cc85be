package api

import (
	"encoding/json"
	"time"
)

// A SessionRequest asks for a session: a sandbox of its own in which files and
// processes last while commands are executed in it. The zero value of every optional
// field is its default.
type SessionRequest struct {
	// Exactly one of Language and Image says what is in it. An exec may bring source
	// only where there is a language.
	Language string `json:"language,omitempty"`
	Image    string `json:"image,omitempty"`

	Labels Labels            `json:"labels,omitzero"`
	Env    map[string]string `json:"env,omitempty"` // of every exec, over the language's

	Preset string `json:"preset,omitempty"` // "hardened" or "light"; below both limits

	// Limits bound all that is in the session together, for its life: memory, swap,
	// cpus, weight, cpuset, pids, scratch and inodes. ExecLimits are what an exec gets
	// that asks for nothing else: wall, cpu, memory, cpus, pids, output, open_files and
	// stack; of what both have, an exec gets at most the session's.
	Limits     Limits `json:"limits,omitzero"`
	ExecLimits Limits `json:"exec_limits,omitzero"`

	Idle Duration `json:"idle,omitempty"` // ends when nothing was asked of it for so long; zero means 5 minutes
	Life Duration `json:"life,omitempty"` // ends so long after it was made, whatever goes on; zero means 1 hour

	Volume *VolumeRequest `json:"volume,omitempty"` // at /workspace; nil: none

	Network      string          `json:"network,omitempty"`       // as of a Run
	WritableRoot bool            `json:"writable_root,omitempty"` // as of a Run
	Profile      string          `json:"profile,omitempty"`       // as of a Run, and so are the next two
	ProfileMode  ProfileMode     `json:"profile_mode,omitempty"`
	ProfileRules json.RawMessage `json:"profile_rules,omitempty"`
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
	ID       string       `json:"session_id"`
	State    SessionState `json:"state"`
	Language string       `json:"language,omitempty"`
	Image    string       `json:"image"` // digest
	Profile  string       `json:"profile"`
	Network  string       `json:"network"`
	Labels   Labels       `json:"labels,omitzero"`

	Limits     Limits   `json:"limits"`      // as enforced, of everything together
	ExecLimits Limits   `json:"exec_limits"` // of an exec that asks for none
	Idle       Duration `json:"idle"`
	Life       Duration `json:"life"`

	Created  string `json:"created"`             // RFC 3339, UTC, like the next two
	IdleEnds string `json:"idle_ends,omitempty"` // when it ends if nothing is asked of it; empty while something goes on
	Ends     string `json:"ends"`                // when it ends whatever goes on

	Volume *MountedVolume `json:"volume,omitempty"` // at /workspace

	Execs   int64        `json:"execs"`   // begun so far
	Running int          `json:"running"` // of them now
	Usage   SessionUsage `json:"usage"`
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
	Memory     Figure `json:"memory_bytes"`      // now: processes, and the files they have written
	MemoryPeak Figure `json:"memory_peak_bytes"` // since it was made
	CPU        Figure `json:"cpu_ns"`            // since it was made
	Processes  Figure `json:"processes"`         // now, with threads
	Scratch    int64  `json:"scratch_bytes"`     // of /box, /tmp and /dev/shm, now
	Inodes     int64  `json:"inodes"`
}

// An Exec is one program executed in a session. Its answer is a Result, given when
// the main process has ended: what that has left running stays, until the session
// ends. Stopped by a limit, or by its caller, it is stopped whole.
type Exec struct {
	// Source is the program's text in the session's language: it is put into /box under
	// SourceName (empty: the language's own name for it), and Argv are then its
	// arguments. Without Source, Argv is the command, looked up in PATH.
	Source     Bytes    `json:"source,omitempty"`
	SourceName string   `json:"source_name,omitempty"`
	Argv       []string `json:"argv,omitempty"`

	Stdin  Bytes             `json:"stdin,omitempty"` // empty: the program reads end of file at once
	Env    map[string]string `json:"env,omitempty"`   // over the session's
	Limits Limits            `json:"limits,omitzero"` // over the session's ExecLimits

	Collect     Collect `json:"collect,omitzero"`      // files of /box that come back; without Globs: none
	Interactive bool    `json:"interactive,omitempty"` // as of a Run
}

// A FileInfo is what lies under one name in /box, or in /workspace.
type FileInfo struct {
	Name       string   `json:"name"` // relative to it
	Kind       FileKind `json:"kind"`
	Size       int64    `json:"size"` // of a regular file, in bytes
	Executable bool     `json:"executable,omitempty"`
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
	Files   []FileInfo `json:"files"`
	Skipped []Skipped  `json:"skipped,omitempty"` // what could not be listed, and why
	More    bool       `json:"more,omitempty"`    // there is more than a list may have
}

// ListFilesMax is the most entries of a FileList.
const ListFilesMax = 10_000
