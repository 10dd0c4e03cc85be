package api

import "strings"

// A ProcessRequest asks for a process of a session: a program that stays, and holds no slot. It is what an Exec is, with
// stdin that can stay open, and a life of its own.
type ProcessRequest struct {
	Source     Bytes    `json:"source,omitzero" doc:"the program's text in the session's language, as in an exec"`
	SourceName string   `json:"source_name,omitempty" doc:"file name of source in /box; empty: the language's default name"`
	Argv       []string `json:"argv,omitempty" doc:"without source: the command, looked up in PATH; with source: the program's arguments"`
	Command    string   `json:"command,omitempty" doc:"instead of argv and source: words for /bin/sh -c"`
	Cwd        string   `json:"cwd,omitempty" doc:"the directory in which argv or command starts, absolute or relative to /box; the image must have /bin/sh; empty: /box"`

	Env    map[string]string `json:"env,omitempty" doc:"environment variables; they override the session's"`
	Limits Limits            `json:"limits,omitzero" doc:"limits of the process; without wall it may run as long as the session lives"`

	Stdin  ProcessStdin `json:"stdin,omitempty" doc:"open: it stays open until it is ended; empty or none: end of file at once" enum:"none,open"`
	TTY    *TTY         `json:"tty,omitempty" doc:"stdin, stdout and stderr are one terminal of this size; stdin is open then"`
	Detach bool         `json:"detach,omitempty" doc:"true: it lives until it ends, or the session does; false: it ends with its last connection, or if none comes within a minute"`
	Tag    string       `json:"tag,omitempty" doc:"a name of the caller's, at most 200 bytes"`
}

// A ProcessStdin says whether a process can be sent input.
type ProcessStdin string

// The values. The empty one is ProcessStdinNone.
const (
	ProcessStdinNone ProcessStdin = "none"
	ProcessStdinOpen ProcessStdin = "open"
)

// maxTag is the length of the longest tag.
const maxTag = 200

// Exec is the exec that the process is.
func (p ProcessRequest) Exec() Exec {
	e := Exec{Source: p.Source, SourceName: p.SourceName, Argv: p.Argv, Env: p.Env, Limits: p.Limits, TTY: p.TTY,
		Resident: true, Interactive: true}
	if p.Command != "" {
		e.Argv = []string{"/bin/sh", "-c", p.Command}
	}
	if p.Cwd != "" {
		e.Argv = append([]string{"/bin/sh", "-c", `cd -- "$0" && exec "$@"`, p.Cwd}, e.Argv...)
	}
	return e
}

// Validate refuses a process that contradicts itself or that no session could carry out.
func (p ProcessRequest) Validate() error {
	switch {
	case p.Command != "" && (p.Source != nil || len(p.Argv) > 0):
		return Refuse(CodeBadRequest, "command is words for a shell: leave argv and source out, or command")
	case p.Cwd != "" && (p.Source != nil || p.Cwd == "-" || len(p.Cwd) > MaxPath || strings.ContainsRune(p.Cwd, 0)):
		return Refuse(CodeBadRequest, "cwd of %d bytes: use at most %d, without NUL and other than -, with argv or command", len(p.Cwd),
			MaxPath)
	case p.Stdin != "" && p.Stdin != ProcessStdinNone && p.Stdin != ProcessStdinOpen:
		return Refuse(CodeBadRequest, "stdin %.40q: use none or open", string(p.Stdin))
	case p.Stdin == ProcessStdinNone && p.TTY != nil:
		return Refuse(CodeBadRequest, "a process at a terminal reads what is typed: leave stdin or tty out")
	case len(p.Tag) > maxTag:
		return Refuse(CodeBadRequest, "tag has %d bytes: the maximum is %d", len(p.Tag), maxTag)
	}
	return p.Exec().Validate()
}

// A Process is one process of a session.
type Process struct {
	PID     int      `json:"pid" doc:"its number among the processes of the session; it is no number of the kernel"`
	Tag     string   `json:"tag,omitempty" doc:"as requested"`
	Argv    []string `json:"argv,omitempty" doc:"as requested; of a command, that of its shell"`
	Command string   `json:"command,omitempty" doc:"as requested"`
	Cwd     string   `json:"cwd,omitempty" doc:"as requested"`
	TTY     bool     `json:"tty,omitempty" doc:"it has a terminal"`
	Detach  bool     `json:"detach,omitempty" doc:"it lives without a connection"`

	State    ProcessState `json:"state" doc:"whether it runs"`
	Attached bool         `json:"attached,omitempty" doc:"somebody is connected to it"`
	Created  string       `json:"created" doc:"when it was created, RFC 3339, UTC"`
	Ended    string       `json:"ended,omitempty" doc:"when its end was known, RFC 3339, UTC"`

	OutputStart  int64 `json:"output_start" doc:"offset of the first byte of its output that is kept"`
	OutputOffset int64 `json:"output_offset" doc:"bytes of output so far, stdout and stderr together"`

	Result *Result  `json:"result,omitempty" doc:"how it ended; its output is read apart"`
	Error  *Problem `json:"error,omitempty" doc:"instead of result: why there is none"`
}

// A ProcessState says whether a process runs.
type ProcessState string

// The states.
const (
	ProcessRunning ProcessState = "running"
	ProcessEnded   ProcessState = "ended"
)

// A ProcessStream is one of the two outputs of a process. A terminal has stdout alone.
type ProcessStream string

// The streams.
const (
	ProcessStdout ProcessStream = "stdout"
	ProcessStderr ProcessStream = "stderr"
)

// ProcessOutput is a part of what a process has written.
type ProcessOutput struct {
	Offset int64          `json:"offset" doc:"of the first byte in pieces: how many were written before it"`
	Gap    int64          `json:"gap,omitempty" doc:"bytes from since on that are not kept any more"`
	Pieces []ProcessPiece `json:"pieces" doc:"in the order of their arrival"`
	Next   int64          `json:"next" doc:"where to read on"`
	Ended  bool           `json:"ended,omitempty" doc:"the process has ended, and nothing follows"`
}

// A ProcessPiece is output of one stream.
type ProcessPiece struct {
	Stream ProcessStream `json:"stream" doc:"which" enum:"stdout,stderr"`
	Data   Bytes         `json:"data" doc:"what was written"`
}

// A SignalRequest sends a signal to a process.
type SignalRequest struct {
	Signal Signal `json:"signal" doc:"its name, such as SIGINT"`
}
