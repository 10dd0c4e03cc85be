package api

import (
	"encoding/json"
	"time"
)

// A SessionRequest asks for a session: a separate sandbox whose files and processes last from one
// command to the next. The zero value of every optional field is its default.
type SessionRequest struct {
	Language string `json:"language,omitempty" doc:"name or alias of the language; without it an image is needed; an exec can have source only if there is a language"`
	Image    string `json:"image,omitempty" doc:"name or digest (sha256:...) of a stored image, never a host path; with language: the image in which the language runs instead of its own"`

	Labels   Labels            `json:"labels,omitzero" doc:"project, task and run of the session; a project and task can have one session at a time"`
	Metadata map[string]string `json:"metadata,omitempty" doc:"what the caller wants to know of the session later: at most 64 names with texts, 8 KiB together; brig does not interpret them"`
	Env      map[string]string `json:"env,omitempty" doc:"environment variables of every exec; they override the language's"`

	Preset string `json:"preset,omitempty" doc:"a named set of limits; fields of limits and exec_limits override it" enum:"hardened,light"`

	Limits     Limits `json:"limits,omitzero" doc:"limits of everything in the session together, for its life: memory, swap, cpus, weight, cpuset, pids, scratch and inodes"`
	ExecLimits Limits `json:"exec_limits,omitzero" doc:"default limits of an exec: wall, cpu, memory, cpus, pids, output, open_files, stack, address_space, data and file_size; a field that is also in limits is at most the value there"`

	Idle Duration `json:"idle,omitempty" doc:"the session ends after this time without requests; zero means 5 minutes"`
	Life Duration `json:"life,omitempty" doc:"the session ends this long after its creation, even if it is in use; zero means 1 hour"`

	Volume *VolumeRequest `json:"volume,omitempty" doc:"the volume to mount at /workspace; absent: none"`

	Snapshot string `json:"snapshot,omitempty" doc:"id or name of a snapshot whose files the session begins with, as a copy of its own; language and image are those of the snapshot if neither is set"`

	Network      string          `json:"network,omitempty" doc:"empty or none: no network except a loopback interface that is down" enum:"none"`
	Requirements []string        `json:"requirements,omitempty" doc:"packages of the language that every exec finds, each a name with bounds of its version; at most 64"`
	Index        string          `json:"index,omitempty" doc:"URL of the index that the packages come from; empty: the language's"`
	WritableRoot bool            `json:"writable_root,omitempty" doc:"a throw-away layer over the image, writable by the program"`
	OwnImage     bool            `json:"own_image,omitempty" doc:"as writable_root, and programs see themselves as root, who owns the files of the image; they have no privilege"`
	WorkdirAlias string          `json:"workdir_alias,omitempty" doc:"a second name of /box, as in a run" enum:"/mnt/data,/w,/home/user"`
	Profile      string          `json:"profile,omitempty" doc:"name of the seccomp profile; empty: the language's tier, or default"`
	ProfileMode  ProfileMode     `json:"profile_mode,omitempty" doc:"what happens to calls that the profile does not allow; empty: enforce"`
	ProfileRules json.RawMessage `json:"profile_rules,omitempty" doc:"the caller's own seccomp profile instead of a name; only root may send one to an agent"`
}

// The idle time and life of a session that sets none, and the longest life if the operator has set
// nothing else (brigd --max-session-life).
const (
	SessionIdle    = Duration(5 * time.Minute)
	SessionLife    = Duration(time.Hour)
	SessionLifeMax = Duration(8 * time.Hour)
)

// SessionExecs is the maximum of concurrent execs in a session.
const SessionExecs = 8

// A Session is the current state of a living session. Reading it does not count as using it.
type Session struct {
	ID       string       `json:"session_id" doc:"id of the session"`
	State    SessionState `json:"state" doc:"whether it is executing something"`
	Language string       `json:"language,omitempty" doc:"language of the session"`
	Image    string       `json:"image" doc:"digest of the image"`
	Profile  string       `json:"profile" doc:"name of the seccomp profile"`
	Network  string       `json:"network" doc:"none: no network except a loopback interface that is down" enum:"none"`
	Labels   Labels       `json:"labels,omitzero" doc:"project, task and run of the session"`

	Metadata map[string]string `json:"metadata,omitempty" doc:"as requested"`

	Limits     Limits   `json:"limits" doc:"limits as enforced, for everything in the session together"`
	ExecLimits Limits   `json:"exec_limits" doc:"limits of an exec that sets none"`
	Idle       Duration `json:"idle" doc:"it ends after this time without requests"`
	Life       Duration `json:"life" doc:"it ends this long after its creation"`

	Created  string `json:"created" doc:"when it was created, RFC 3339, UTC"`
	IdleEnds string `json:"idle_ends,omitempty" doc:"when it ends if it gets no request, RFC 3339, UTC; absent while it is in use"`
	Ends     string `json:"ends" doc:"when it ends in any case, RFC 3339, UTC"`

	Volume *MountedVolume `json:"volume,omitempty" doc:"the volume mounted at /workspace"`

	Snapshot string `json:"snapshot,omitempty" doc:"id of the snapshot with whose files it began"`

	Execs   int64        `json:"execs" doc:"execs started so far"`
	Running int          `json:"running" doc:"execs under way"`
	Usage   SessionUsage `json:"usage" doc:"its current and past resource usage"`
}

// A SessionState says whether a session is executing something.
type SessionState string

// The states. A session that has ended has none: a request for it gets the error session-ended,
// which says why.
const (
	SessionQuiet   SessionState = "idle"    // no exec is under way; processes that earlier execs left may run
	SessionRunning SessionState = "running" // at least one exec is under way
)

// SessionUsage is what a session holds and has used, for all of its processes together, including
// those that execs have left running.
type SessionUsage struct {
	Memory     Measurement `json:"memory_bytes" doc:"memory in use, in bytes: processes, and the files that they have written"`
	MemoryPeak Measurement `json:"memory_peak_bytes" doc:"peak memory since its creation, in bytes"`
	CPU        Measurement `json:"cpu_ns" doc:"nanoseconds of processor time since its creation"`
	Processes  Measurement `json:"processes" doc:"current number of processes and threads"`
	Scratch    int64       `json:"scratch_bytes" doc:"bytes of /box, /tmp and /dev/shm now"`
	Inodes     int64       `json:"inodes" doc:"files and directories in them now"`
}

// An Exec is one program executed in a session. The answer is a Result, given when the main process
// has ended; processes that it has left running stay until the session ends. If a limit or the
// caller stops an exec, all of its processes are stopped.
type Exec struct {
	// nil: none
	Source     Bytes    `json:"source,omitzero" doc:"the program's text in the session's language, placed in /box; argv then has the program's arguments; an empty string is an empty program"`
	SourceName string   `json:"source_name,omitempty" doc:"file name of source in /box, with a number added while another exec has it; empty: the language's default name"`
	Argv       []string `json:"argv,omitempty" doc:"without source: the command, looked up in PATH; with source: the program's arguments"`

	Stdin  Bytes             `json:"stdin,omitempty" doc:"what the program reads; empty: end of file at once"`
	Env    map[string]string `json:"env,omitempty" doc:"environment variables; they override the session's"`
	Limits Limits            `json:"limits,omitzero" doc:"limits of the exec; they override the session's exec_limits"`

	Collect     Collect `json:"collect,omitzero" doc:"which files of /box are returned; none without globs"`
	Interactive bool    `json:"interactive,omitempty" doc:"adds the language's interactive environment, such as unbuffered output"`
	MergeStderr bool    `json:"merge_stderr,omitempty" doc:"stderr is the same pipe as stdout, also that of the compiler: stdout has both, in the order of writing, and the limit output counts both together"`

	TTY *TTY `json:"tty,omitempty" doc:"stdin, stdout and stderr are one terminal of this size; only of a streamed exec, whose stdin is what is typed"`

	Resident bool `json:"resident,omitempty" doc:"the program stays: it leases no slot, has the processor time of processes left running, and as much time as the session lives; only of a streamed exec"`
	Control  bool `json:"control,omitempty" doc:"a resident has two pipes more: it reads what the caller sends as control on descriptor 3, and writes on 4; what it wrote to stdout and stderr before a write on 4 arrives before that"`

	Timeline *TimelineRequest `json:"timeline,omitempty" doc:"measure memory, processor time and processes at intervals while the program runs"`
}

// A FileInfo describes one name in /box or in /workspace.
type FileInfo struct {
	Name       string   `json:"name" doc:"relative to /box, or to /workspace"`
	Kind       FileKind `json:"kind" doc:"only regular files can be read"`
	Size       int64    `json:"size" doc:"size of a regular file, in bytes"`
	Executable bool     `json:"executable,omitempty" doc:"whether it has an x bit"`
}

// A FileKind says what kind of file a name refers to. Only regular files can be read.
type FileKind string

// The kinds.
const (
	RegularFile FileKind = "file"
	Directory   FileKind = "directory"
	Symlink     FileKind = "symlink"
	OtherFile   FileKind = "other" // a FIFO or a socket
)

// A FileList lists the contents of a directory, in the order of a walk.
type FileList struct {
	Files   []FileInfo `json:"files" doc:"in the order of a walk"`
	Skipped []Skipped  `json:"skipped,omitempty" doc:"entries that could not be listed, and why"`
	More    bool       `json:"more,omitempty" doc:"there are more entries than a list can have"`
}

// ListFilesMax is the most entries of a FileList. ListFilesBytes is approximately the most bytes
// that all their names together take in JSON.
const (
	ListFilesMax   = 10_000
	ListFilesBytes = 1 << 20
)
