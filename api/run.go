package api

import "encoding/json"

// A Run is one execution asked for: an image or a language, what to run in it,
// and within which bounds. The zero value of every optional field is its default.
type Run struct {
	Language string `json:"language,omitempty" doc:"name of the language, or an alias; this or image is needed, and not both"`
	Image    string `json:"image,omitempty" doc:"name or digest (sha256:...) of a stored image, never a path of the host; this or language is needed, and not both"`

	Source     Bytes    `json:"source,omitzero" doc:"the program's text, placed in /box; it needs language, and argv are then its arguments; given and empty, it is an empty program"` // nil: none
	SourceName string   `json:"source_name,omitempty" doc:"name that source gets in /box; empty: the language's own name for it"`
	Argv       []string `json:"argv,omitempty" doc:"without source the command, looked up in PATH; with it the program's arguments"`

	Flags         []string `json:"flags,omitempty" doc:"for the compiler, each one that the language offers; none: the language's default flags"`
	CompileLimits Limits   `json:"compile_limits,omitzero" doc:"of the compile stage, over the language's own"`

	Stdin     Bytes             `json:"stdin,omitempty" doc:"what the program reads; empty: end of file at once"`
	StdinBlob string            `json:"stdin_blob,omitempty" doc:"instead of stdin: the digest of a blob"`
	Files     []File            `json:"files,omitempty" doc:"placed in /box before the program starts"`
	Env       map[string]string `json:"env,omitempty" doc:"environment variables, over PATH, HOME, TMPDIR, LANG and the language's"`

	Preset string `json:"preset,omitempty" doc:"a set of limits, below those of limits" enum:"hardened,light"`
	Limits Limits `json:"limits,omitzero" doc:"bounds of the run; what is absent or zero takes the default"`

	Network      string `json:"network,omitempty" doc:"empty or none: no network but an unconfigured loopback" enum:"none"`
	WritableRoot bool   `json:"writable_root,omitempty" doc:"a throw-away layer over the image, writable by the program"`

	Collect Collect `json:"collect,omitzero" doc:"which files of /box come back"`
	Labels  Labels  `json:"labels,omitzero" doc:"whose run it is"`

	Profile     string      `json:"profile,omitempty" doc:"name of the seccomp profile; empty: the language's tier, or default"`
	ProfileMode ProfileMode `json:"profile_mode,omitempty" doc:"what becomes of the calls that the profile does not allow; empty: enforce"`

	ProfileRules json.RawMessage `json:"profile_rules,omitempty" doc:"a seccomp profile of the caller's own instead of a name; only root may send one to an agent"`

	Mode Mode `json:"mode,omitempty" doc:"how much is shared between runs; empty: strict" enum:"strict,fresh,exclusive"`

	Interactive bool `json:"interactive,omitempty" doc:"adds the language's interactive environment, such as unbuffered output"`

	Tests []Test `json:"tests,omitempty" doc:"runs one program several times: it is compiled once, and each test is a run of its own, with nothing of the others; stdin must be empty then"`

	Compare       Compare `json:"compare,omitzero" doc:"how output is compared with what is expected"`
	StopAtFailure bool    `json:"stop_at_failure,omitempty" doc:"begin no test after one that was not accepted"`
	KeepOutput    Size    `json:"keep_output,omitempty" doc:"how much of each stream a test's result carries; zero means 64 KiB"`
}

// A File is content placed in /box. Name is relative to it, with "/" between its
// parts. Executable sets the x bits.
type File struct {
	Name       string `json:"name" doc:"relative to /box, with / between its parts"`
	Content    Bytes  `json:"content,omitzero" doc:"what is in it"`
	Blob       string `json:"blob,omitempty" doc:"instead of content: the digest of a blob"`
	Executable bool   `json:"executable,omitempty" doc:"sets the x bits"`
}

// Collect says which files of /box come back. Without Globs: the regular files
// that are new or changed, except caches (__pycache__ and the like).
type Collect struct {
	None  bool     `json:"none,omitempty" doc:"collect nothing"`
	Globs []string `json:"globs,omitempty" doc:"patterns of names relative to /box, as * and ? in shells; none: the regular files that are new or changed, except caches such as __pycache__; in an exec of a session, no files; those with *, ? or [ have 4096 bytes at most, all together"`
	Files int      `json:"files,omitempty" doc:"the most files; zero means 64, and 1024 is the most"`
	Bytes Size     `json:"bytes,omitempty" doc:"the most bytes together; zero means 8 MiB, and 256 MiB is the most"`
}

// IsZero reports whether c asks for nothing, as with an empty list of Globs; for omitzero.
func (c Collect) IsZero() bool { return !c.None && len(c.Globs) == 0 && c.Files == 0 && c.Bytes == 0 }

// The bounds of Collect where it sets none, and the most it may set.
const (
	CollectFiles    = 64
	CollectBytes    = 8 * MiB
	CollectFilesMax = 1024
	CollectBytesMax = 256 * MiB

	// MaxGlobBytes bounds the globs that are patterns, all together: each name that a
	// program leaves is held against all of them (FIO-21).
	MaxGlobBytes = 4096
)

// Labels say whose run it is. They are carried, never interpreted.
type Labels struct {
	Project string `json:"project,omitempty" doc:"whose run it is: carried, never interpreted"`
	Task    string `json:"task,omitempty" doc:"what in the project it is for: carried, never interpreted"`
}

// A Mode says how much is shared between runs.
type Mode string

// The modes.
const (
	Strict Mode = "strict" // a fresh shell in a kept cell (see docs/run-lifecycle.md)
	Fresh  Mode = "fresh"  // a cell used once

	// Exclusive is Fresh with a copy of the image's files that no other run sees, made for
	// the run and gone with it; each test of a job has its own (see docs/threat-model.md).
	Exclusive Mode = "exclusive"

	// InSession is how an exec ran: among what others left in its session. No Run asks
	// for it.
	InSession Mode = "session"
)

// A ProfileMode says what becomes of the calls a profile does not allow.
type ProfileMode string

// The profile modes.
const (
	Enforce ProfileMode = "enforce"
	Log     ProfileMode = "log" // they are carried out and listed in Result.Logged; for writing profiles, not for strangers
)
