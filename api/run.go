package api

import (
	"encoding/json"
	"strings"
)

// A Run is the request of one execution: an image or a language, the program, and its limits. The
// zero value of every optional field is its default.
type Run struct {
	Language string `json:"language,omitempty" doc:"name or alias of the language; without it an image is needed"`
	Image    string `json:"image,omitempty" doc:"name or digest (sha256:...) of a stored image, never a host path; with language: the image in which the language runs instead of its own"`

	// nil: none
	Source     Bytes    `json:"source,omitzero" doc:"the program's text, placed in /box; it needs language, and argv then has the program's arguments; an empty string is an empty program"`
	SourceName string   `json:"source_name,omitempty" doc:"file name of source in /box; empty: the language's default name"`
	Argv       []string `json:"argv,omitempty" doc:"without source: the command, looked up in PATH, by default the one that the image names; with source: the program's arguments"`

	Flags         []string  `json:"flags,omitempty" doc:"compiler flags out of those that the language allows; none: the language's default flags"`
	FreeFlags     FreeFlags `json:"free_flags,omitzero" doc:"flags in addition to those of flags and of the language, out of no list; what is compiled with some is not kept"`
	CompileLimits Limits    `json:"compile_limits,omitzero" doc:"limits of the compile stage; they override the language's"`

	Stdin     Bytes             `json:"stdin,omitempty" doc:"what the program reads; empty: end of file at once"`
	StdinBlob string            `json:"stdin_blob,omitempty" doc:"instead of stdin: the digest of a blob"`
	Files     []File            `json:"files,omitempty" doc:"placed in /box before the program starts"`
	Env       map[string]string `json:"env,omitempty" doc:"environment variables; they override PATH, HOME, TMPDIR, LANG, the image's and the language's"`

	Preset string `json:"preset,omitempty" doc:"a named set of limits; fields of limits override it" enum:"hardened,light"`
	Limits Limits `json:"limits,omitzero" doc:"limits of the run; absent or zero fields take the default"`

	Network      string   `json:"network,omitempty" doc:"what the program can reach: none (also if empty), loopback (its own processes), allow (also the hosts of allow), public (also every public host, ports 80 and 443); the operator may offer less" enum:"none,loopback,allow,public"`
	Allow        []string `json:"allow,omitempty" doc:"with network allow or public: HOST, *.DOMAIN, ADDRESS or ADDRESS/BITS, each with :PORT or without (80 and 443); at most 256"`
	Requirements []string `json:"requirements,omitempty" doc:"packages of the language that the program finds, each a name with bounds of its version such as numpy==2.*; at most 64; they must be installed: see packages-missing"`
	Index        string   `json:"index,omitempty" doc:"URL of the index that the packages come from; empty: the language's"`
	WritableRoot bool     `json:"writable_root,omitempty" doc:"a throw-away layer over the image, writable by the program"`
	WorkdirAlias string   `json:"workdir_alias,omitempty" doc:"a second name of /box, for programs that know their directory by it; what the image has there is hidden" enum:"/mnt/data,/w,/home/user"`

	Collect Collect `json:"collect,omitzero" doc:"which files of /box are returned"`
	Labels  Labels  `json:"labels,omitzero" doc:"project, task and run that it belongs to"`

	Profile     string      `json:"profile,omitempty" doc:"name of the seccomp profile; empty: the language's tier, or default"`
	ProfileMode ProfileMode `json:"profile_mode,omitempty" doc:"what happens to calls that the profile does not allow; empty: enforce"`

	ProfileRules json.RawMessage `json:"profile_rules,omitempty" doc:"the caller's own seccomp profile instead of a name; only root may send one to an agent"`

	Mode Mode `json:"mode,omitempty" doc:"how much is shared between runs; empty: what the key or the agent says, else strict" enum:"strict,fresh,exclusive"`

	Interactive bool `json:"interactive,omitempty" doc:"adds the language's interactive environment, such as unbuffered output"`

	TTY *TTY `json:"tty,omitempty" doc:"stdin, stdout and stderr are one terminal of this size; only of a streamed run, whose stdin is what is typed"`

	MergeStderr bool `json:"merge_stderr,omitempty" doc:"stderr is the same pipe as stdout, also that of the compiler: stdout has both, in the order of writing, and the limit output counts both together"`

	NoTemplate bool `json:"no_template,omitempty" doc:"start the interpreter for this run instead of beginning from a template of it"`

	Timeline *TimelineRequest `json:"timeline,omitempty" doc:"measure memory, processor time and processes at intervals while the program runs; a run with tests has none"`

	Tests []Test `json:"tests,omitempty" doc:"runs one program several times: it is compiled once, and each test is a separate run that shares nothing with the others; stdin must be empty"`

	InputFile  string `json:"input_file,omitempty" doc:"name of a file in /box that has the stdin of each test, such as input.txt; the program's stdin is then empty"`
	OutputFile string `json:"output_file,omitempty" doc:"name of a file in /box that each program must leave, such as output.txt; its content is judged instead of stdout"`

	Compare       Compare      `json:"compare,omitzero" doc:"how output is compared with the expected output"`
	Check         *Check       `json:"check,omitempty" doc:"a program that judges the output of each test, instead of compare"`
	Interactor    *Interactor  `json:"interactor,omitempty" doc:"a program that talks with this one in each test; it alone reads the test's stdin"`
	Call          *Call        `json:"call,omitempty" doc:"the function of the Python source that tests with call_args call"`
	Passes        int          `json:"passes,omitempty" doc:"most passes of a test of a multi-pass problem; with the protocol testlib 2, and then the program runs twice; zero means 1"`
	Suite         *Suite       `json:"suite,omitempty" doc:"unit tests that run in one sandbox with the program, instead of tests; an agent by itself does not read their report"`
	Groups        []ScoreGroup `json:"groups,omitempty" doc:"tests that score together"`
	StopAtFailure bool         `json:"stop_at_failure,omitempty" doc:"no test counts after the first one, in the order of the request, that was not accepted; those after it are not in the result"`
	KeepOutput    Size         `json:"keep_output,omitempty" doc:"how much of each stream a test's result carries; zero means 64 KiB"`
}

// WorkdirAliases are the second names that /box can have, absolute and without links: those by which other programs know
// the directory of theirs. Each makes cells of its own, so they are few.
func WorkdirAliases() []string { return []string{"/mnt/data", "/w", "/home/user"} }

// FreeFlags are words that a compiler or an interpreter gets as they are. They can make it execute other
// programs of the caller, in the sandbox and under the profile of its stage: a flag is no more than code (CMP-21).
type FreeFlags struct {
	Compile []string `json:"compile,omitempty" doc:"for the compiler, after those of flags, before the names of the sources"`
	Link    []string `json:"link,omitempty" doc:"for the compiler, at the end of its command"`
	Run     []string `json:"run,omitempty" doc:"for the interpreter or the virtual machine, before the name of the program"`
}

// IsZero reports whether f has no flag. It is for omitzero.
func (f FreeFlags) IsZero() bool { return len(f.Compile)+len(f.Link)+len(f.Run) == 0 }

func (f FreeFlags) validate() error {
	for _, list := range []struct {
		name  string
		flags []string
	}{{"compile", f.Compile}, {"link", f.Link}, {"run", f.Run}} {
		if len(list.flags) > maxFlags {
			return Refuse(CodeBadRequest, "free_flags.%s has %d flags: the maximum is %d", list.name, len(list.flags), maxFlags)
		}
		for i, flag := range list.flags {
			switch {
			case strings.ContainsRune(flag, 0):
				return Refuse(CodeBadRequest, "free_flags.%s[%d] contains a NUL byte: leave it out", list.name, i)
			case len(flag) > maxFreeFlag:
				return Refuse(CodeBadRequest, "free_flags.%s[%d] has %d bytes: the maximum is %d", list.name, i, len(flag),
					maxFreeFlag)
			}
		}
	}

	return nil
}

// A File is content placed in /box. Name is relative to it, with "/" between its
// parts. Executable sets the x bits. A file of a command may also be in /tmp, or be a link.
type File struct {
	Name       string `json:"name" doc:"name relative to /box, with / between its parts; of a command (a run without language) also /tmp/NAME"`
	Content    Bytes  `json:"content,omitzero" doc:"the content"`
	Blob       string `json:"blob,omitempty" doc:"instead of content: the digest of a blob"`
	Link       string `json:"link,omitempty" doc:"instead of content, for a command (a run without language): it is a symbolic link to this path in the sandbox"`
	Size       Size   `json:"size,omitempty" doc:"in a result: bytes of the blob; in a request it means nothing"`
	Executable bool   `json:"executable,omitempty" doc:"sets the x bits"`
}

// Collect says which files of /box the result contains. Without Globs these are the regular files
// that are new or changed, except caches (__pycache__ and the like).
type Collect struct {
	None  bool     `json:"none,omitempty" doc:"collect nothing"`
	Globs []string `json:"globs,omitempty" doc:"patterns for names relative to /box, with * and ? as in shells; none: the regular files that are new or changed, except caches such as __pycache__; in an exec of a session: no files; all globs with *, ? or [ together may have at most 4096 bytes"`
	Files int      `json:"files,omitempty" doc:"the most files; zero means 64, and 1024 is the maximum"`
	Bytes Size     `json:"bytes,omitempty" doc:"the most bytes in total; zero means 8 MiB, and 256 MiB is the maximum"`
	Blobs bool     `json:"blobs,omitempty" doc:"the files are kept as blobs, and the result has their digests and sizes instead of their content: later runs name them in blob; not of a run with tests"`
}

// IsZero reports whether c sets nothing; an empty list of Globs is nothing. It is for omitzero.
func (c Collect) IsZero() bool {
	return !c.None && len(c.Globs) == 0 && c.Files == 0 && c.Bytes == 0 && !c.Blobs
}

// The bounds of Collect if it sets none, and the largest that it may set.
const (
	CollectFiles    = 64
	CollectBytes    = 8 * MiB
	CollectFilesMax = 1024
	CollectBytesMax = 256 * MiB

	// MaxGlobBytes bounds the globs that are patterns, all together: each file name that a
	// program leaves is matched against all of them (FIO-21).
	MaxGlobBytes = 4096
)

// A Mode says how much is shared between runs.
type Mode string

// The modes.
const (
	Strict Mode = "strict" // a fresh shell in a kept cell (see docs/run-lifecycle.md)
	Fresh  Mode = "fresh"  // a cell used once

	// Exclusive is Fresh with a copy of the image's files that no other run sees. The copy is
	// made for the run and removed with it; each test of a job has its own copy (see
	// docs/threat-model.md).
	Exclusive Mode = "exclusive"

	// InSession is the mode of an exec: it runs among the files and processes that other execs
	// left in its session. A Run cannot ask for it.
	InSession Mode = "session"
)

// A ProfileMode says what happens to calls that a profile does not allow.
type ProfileMode string

// The profile modes.
const (
	Enforce ProfileMode = "enforce"
	Log     ProfileMode = "log" // they are carried out and listed in Result.Logged; for writing profiles, not for strangers
)
