package api

// A Program is a program that judges another one: a checker or an interactor. It has fields of a
// Run, with the same meaning. It runs in a sandbox of its own, never in that of the program it
// judges, and is compiled once for all tests. The zero value of an optional field is its default.
type Program struct {
	Language      string   `json:"language,omitempty" doc:"name or alias of its language; without it an image is needed"`
	Image         string   `json:"image,omitempty" doc:"name or digest of a stored image; with language: the image in which the language runs instead of its own"`
	Source        Bytes    `json:"source,omitzero" doc:"its text, placed in its own /box; it needs language"` // nil: none
	SourceName    string   `json:"source_name,omitempty" doc:"file name of source; empty: the language's default name"`
	Argv          []string `json:"argv,omitempty" doc:"without source: the command; the protocol's arguments follow it"`
	Files         []File   `json:"files,omitempty" doc:"placed in its own /box, such as testlib.h"`
	Flags         []string `json:"flags,omitempty" doc:"compiler flags out of those that the language allows"`
	CompileLimits Limits   `json:"compile_limits,omitzero" doc:"limits of its compile stage"`
	Limits        Limits   `json:"limits,omitzero" doc:"its limits on each test; zero fields take the default: 10 s of processor time, 60 s for kattis, 2 GiB of memory"`
}

// A ProgramOutcome says how a checker or an interactor ended on one test.
type ProgramOutcome struct {
	Verdict    Verdict `json:"verdict" doc:"how it ended"`
	ExitCode   int     `json:"exit_code" doc:"its exit code; -1 if a signal ended it"`
	Signal     int     `json:"signal,omitempty" doc:"signal that ended it"`
	SignalName string  `json:"signal_name,omitempty" doc:"such as SIGSEGV"`
	Stderr     Bytes   `json:"stderr,omitempty" doc:"the first 4 KiB of what it wrote to stderr; of an interactor of the protocol none: keep_output"`
	Usage      Usage   `json:"usage" doc:"its resource usage"`
	Timing     Timing  `json:"timing" doc:"how long it took"`

	Files   []File    `json:"files,omitempty" doc:"of an interactor of the protocol none: the files that collect asked for"`
	Skipped []Skipped `json:"skipped,omitempty" doc:"files that were not collected, and why"`
}

// Run returns the Run that executes the program.
func (p Program) Run() Run {
	return Run{
		Language: p.Language, Image: p.Image, Source: p.Source, SourceName: p.SourceName, Argv: p.Argv, Files: p.Files,
		Flags: p.Flags, CompileLimits: p.CompileLimits, Limits: p.Limits,
	}
}
