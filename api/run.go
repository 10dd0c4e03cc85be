package api

import "encoding/json"

// A Run is one execution asked for: an image or a language, what to run in it,
// and within which bounds. The zero value of every optional field is its default.
type Run struct {
	// Exactly one of Language and Image says where the program runs. Image is a
	// stored image's name or its digest ("sha256:..."), never a host path.
	Language string `json:"language,omitempty"`
	Image    string `json:"image,omitempty"`

	// Source is the program's text; it needs Language, is placed in /box under
	// SourceName (empty: the language's own name for it), and Argv are then its
	// arguments. Without Source, Argv is the command, looked up in PATH.
	Source     Bytes    `json:"source,omitempty"`
	SourceName string   `json:"source_name,omitempty"`
	Argv       []string `json:"argv,omitempty"`

	// Flags are for the compiler of Language, each one that its manifest offers;
	// none: the manifest's default flags. CompileLimits bound the compile stage over
	// the manifest's own.
	Flags         []string `json:"flags,omitempty"`
	CompileLimits Limits   `json:"compile_limits,omitzero"`

	Stdin     Bytes             `json:"stdin,omitempty"`      // empty: the program reads end of file at once
	StdinBlob string            `json:"stdin_blob,omitempty"` // instead of Stdin: the digest of a blob the agent holds
	Files     []File            `json:"files,omitempty"`      // placed in /box before the program starts
	Env       map[string]string `json:"env,omitempty"`        // over PATH, HOME, TMPDIR, LANG and the language's

	Preset string `json:"preset,omitempty"` // "hardened" or "light"; below Limits
	Limits Limits `json:"limits,omitzero"`

	Network      string `json:"network,omitempty"`       // "" or "none": no network but an unconfigured loopback
	WritableRoot bool   `json:"writable_root,omitempty"` // a throw-away layer over the image, writable by the program

	Collect Collect `json:"collect,omitzero"`
	Labels  Labels  `json:"labels,omitzero"`

	Profile     string      `json:"profile,omitempty"`      // seccomp profile; empty: the language's tier, or "default"
	ProfileMode ProfileMode `json:"profile_mode,omitempty"` // empty: enforce

	// ProfileRules is a profile of the caller's own, in package seccomp's JSON
	// form, instead of a name. Only root may send one.
	ProfileRules json.RawMessage `json:"profile_rules,omitempty"`

	Mode Mode `json:"mode,omitempty"` // empty: strict

	// Interactive adds the language's interactive environment, such as unbuffered
	// output; brig run sets it, batch callers do not.
	Interactive bool `json:"interactive,omitempty"`

	// Tests run one program several times: it is compiled once, and each test is a
	// run of its own, with nothing of the others. They run side by side on the slots
	// that are free. Stdin must be empty then.
	Tests []Test `json:"tests,omitempty"`

	Compare       Compare `json:"compare,omitzero"`          // how output is compared with what is expected
	StopAtFailure bool    `json:"stop_at_failure,omitempty"` // begin no test after one that was not accepted
	KeepOutput    Size    `json:"keep_output,omitempty"`     // of each stream in a test's result; zero means 64 KiB
}

// A File is content placed in /box. Name is relative to it, with "/" between its
// parts. Executable sets the x bits.
type File struct {
	Name       string `json:"name"`
	Content    Bytes  `json:"content,omitzero"`
	Blob       string `json:"blob,omitempty"` // instead of Content: the digest of a blob the agent holds
	Executable bool   `json:"executable,omitempty"`
}

// Collect says which files of /box come back. Without Globs: the regular files
// that are new or changed, except caches (__pycache__ and the like).
type Collect struct {
	None  bool     `json:"none,omitempty"`  // collect nothing
	Globs []string `json:"globs,omitempty"` // path.Match patterns relative to /box
	Files int      `json:"files,omitempty"` // most files; zero means 64
	Bytes Size     `json:"bytes,omitempty"` // most bytes together; zero means 8 MiB
}

// IsZero reports whether c asks for nothing, as with an empty list of Globs; for omitzero.
func (c Collect) IsZero() bool { return !c.None && len(c.Globs) == 0 && c.Files == 0 && c.Bytes == 0 }

// The bounds of Collect where it sets none, and the most it may set.
const (
	CollectFiles    = 64
	CollectBytes    = 8 * MiB
	CollectFilesMax = 1024
	CollectBytesMax = 256 * MiB
)

// Labels say whose run it is. They are carried, never interpreted.
type Labels struct {
	Project string `json:"project,omitempty"`
	Task    string `json:"task,omitempty"`
}

// A Mode says how much is shared between runs.
type Mode string

// The modes.
const (
	Strict Mode = "strict" // a fresh shell in a kept cell (see docs/run-lifecycle.md)
	Fresh  Mode = "fresh"  // a cell used once

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
