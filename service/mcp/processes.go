package mcp

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/brig-sandbox/brig/api"
)

// StartProcess are the arguments of start_process.
type StartProcess struct {
	Session  string            `json:"session_id" jsonschema:"id of the session"`
	Command  Command           `json:"command" jsonschema:"the command: a line for sh, or a list of words, which no shell reads"`
	Cwd      string            `json:"cwd,omitempty" jsonschema:"directory in which it starts, absolute or relative to /box; none: /box"`
	Env      map[string]string `json:"env,omitempty" jsonschema:"environment variables"`
	Terminal bool              `json:"terminal,omitempty" jsonschema:"whether it has a terminal of 24 lines and 80 columns; its output then contains echo and escape sequences"`
	Tag      string            `json:"tag,omitempty" jsonschema:"a name by which you find it in the list of processes"`
	Timeout  float64           `json:"timeout_seconds,omitempty" jsonschema:"longest time it may take; none: as long as the session lives"`
}

// terminal is the size of the terminal of a process.
var terminal = api.TTY{Rows: 24, Cols: 80}

// planProcess makes the request of start_process. The process lives without a connection, because each call has its own.
func planProcess(in StartProcess) (p api.ProcessRequest, err error) {
	p = api.ProcessRequest{Argv: in.Command, Cwd: in.Cwd, Env: in.Env, Tag: in.Tag, Stdin: api.ProcessStdinOpen, Detach: true}
	if in.Terminal {
		p.TTY = &terminal
	}
	if p.Limits, err = limitsOf(in.Timeout, ""); err != nil {
		return p, err
	}
	return p, p.Validate()
}

// A ProcessInfo is one process in an answer.
type ProcessInfo struct {
	ID      int    `json:"process_id" jsonschema:"number of the process in its session, for other calls"`
	Command string `json:"command,omitempty" jsonschema:"its command"`
	Tag     string `json:"tag,omitempty" jsonschema:"as requested"`
	State   string `json:"state" jsonschema:"running or ended"`
	Written int64  `json:"output_bytes" jsonschema:"bytes that it has written so far, stdout and stderr together"`

	*ProcessEnd
}

// A ProcessEnd is how a process ended.
type ProcessEnd struct {
	Verdict  string `json:"verdict,omitempty" jsonschema:"how it ended, as of a program"`
	ExitCode *int   `json:"exit_code,omitempty" jsonschema:"exit code; -1 if a signal ended it"`
	Signal   string `json:"signal,omitempty" jsonschema:"the signal that ended it"`
	Problem  string `json:"problem,omitempty" jsonschema:"why it is not known how it ended"`
}

func tellProcess(p api.Process) ProcessInfo {
	return ProcessInfo{ID: p.PID, Command: shorten(cmp.Or(p.Command, strings.Join(p.Argv, " "))), Tag: shorten(p.Tag),
		State: string(p.State), Written: p.OutputOffset, ProcessEnd: endOf(p)}
}

// endOf says how a process ended; nil: it runs.
func endOf(p api.Process) *ProcessEnd {
	switch {
	case p.State != api.ProcessEnded:
		return nil
	case p.Result != nil:
		return &ProcessEnd{Verdict: string(p.Result.Verdict), ExitCode: &p.Result.ExitCode, Signal: p.Result.SignalName}
	case p.Error != nil:
		return &ProcessEnd{Problem: string(p.Error.Code) + ": " + p.Error.Detail}
	}
	return &ProcessEnd{Problem: "unknown"}
}

func (e *ProcessEnd) text() string {
	switch {
	case e == nil:
		return "running"
	case e.Problem != "":
		return "ended, " + e.Problem
	case e.Signal != "":
		return "ended, " + e.Verdict + " (" + e.Signal + ")"
	}
	return fmt.Sprintf("ended, %s (exit code %d)", e.Verdict, *e.ExitCode)
}

func (p ProcessInfo) text() string {
	text := fmt.Sprintf("process_id: %d, %s, %d bytes written", p.ID, p.ProcessEnd.text(), p.Written)
	if p.Tag != "" {
		text += fmt.Sprintf(", tag %q", p.Tag)
	}
	return text + fmt.Sprintf(": %q\n", p.Command) // which may look like the next line
}

// ListProcesses are the arguments of list_processes.
type ListProcesses struct {
	Session string `json:"session_id" jsonschema:"id of the session"`
}

// ProcessList is the answer of list_processes.
type ProcessList struct {
	Processes []ProcessInfo `json:"processes" jsonschema:"those that run, and those that ended within an hour"`
	Tail      bool          `json:"tail,omitempty" jsonschema:"whether there are more, and only the last 50 are shown"`
}

// maxProcessesShown is the most processes in an answer.
const maxProcessesShown = 50

func tellProcesses(all []api.Process) ProcessList {
	l := ProcessList{Processes: []ProcessInfo{}}
	if more := len(all) - maxProcessesShown; more > 0 {
		l.Tail, all = true, all[more:]
	}
	for _, p := range all {
		l.Processes = append(l.Processes, tellProcess(p))
	}
	return l
}

func (l ProcessList) text() string {
	var b strings.Builder
	for _, p := range l.Processes {
		b.WriteString(p.text())
	}
	if len(l.Processes) == 0 {
		b.WriteString("there are no processes\n")
	}
	if l.Tail {
		b.WriteString("[there are earlier ones]\n")
	}
	return b.String()
}

// ReadOutput are the arguments of read_output.
type ReadOutput struct {
	Session string  `json:"session_id" jsonschema:"id of the session"`
	Process int     `json:"process_id" jsonschema:"number of the process"`
	Offset  int64   `json:"offset,omitempty" jsonschema:"byte of its output at which to begin, such as next_offset of an earlier call"`
	Wait    float64 `json:"wait_seconds,omitempty" jsonschema:"how long to wait for output, or for the end, if there is none yet; at most 60; none: not at all"`
}

// waitMax is the longest wait of a call, in seconds.
const waitMax = 60

// planOutput makes the wait of read_output.
func planOutput(in ReadOutput) (wait string, err error) {
	switch {
	case in.Offset < 0:
		return "", api.Refuse(api.CodeBadRequest, "offset is %d: write 0 or more", in.Offset)
	case in.Wait == 0:
		return "", nil
	case !(in.Wait > 0 && in.Wait <= waitMax):
		return "", api.Refuse(api.CodeBadRequest, "wait_seconds is %v: write a positive number of at most %d", in.Wait, waitMax)
	}
	return max(time.Duration(in.Wait*float64(time.Second)), time.Millisecond).String(), nil
}

// An OutputPart is the answer of read_output.
type OutputPart struct {
	Stdout string `json:"stdout" jsonschema:"what it wrote to stdout, or to its terminal, in this part"`
	Stderr string `json:"stderr" jsonschema:"what it wrote to stderr in this part"`
	Lost   int64  `json:"lost_bytes,omitempty" jsonschema:"bytes from offset on that are not kept any more"`
	Next   int64  `json:"next_offset" jsonschema:"offset of what follows"`
	More   bool   `json:"more,omitempty" jsonschema:"whether more is there already"`
	State  string `json:"state" jsonschema:"running, or ended if nothing follows after this part but what more tells"`

	*ProcessEnd

	merged string // in the order of arrival
}

// tellOutput makes the answer of read_output, with at most readMax bytes. p describes the process, and was asked for after
// its output.
func tellOutput(out api.ProcessOutput, p api.Process) OutputPart {
	part := OutputPart{Lost: out.Gap, State: string(api.ProcessRunning)}
	var merged, stdout, stderr api.Bytes
	begun := 0 // bytes at the end that begin a character
	last := &stdout
	for _, piece := range out.Pieces {
		data := piece.Data[:min(len(piece.Data), readMax-len(merged))]
		if len(data) == 0 {
			break
		}
		if last = &stdout; piece.Stream == api.ProcessStderr {
			last = &stderr
		}
		merged, *last = append(merged, data...), append(*last, data...)
		begun = data.IncompleteTail()
	}

	part.More = out.Offset+int64(len(merged)) < out.Next
	switch {
	case out.Ended && !part.More:
		part.State, part.ProcessEnd = string(api.ProcessEnded), endOf(p)
	case begun < len(merged): // the rest of the character comes with the next part
		merged, *last = merged[:len(merged)-begun], (*last)[:len(*last)-begun]
	}
	part.Next = out.Offset + int64(len(merged))
	part.merged, part.Stdout, part.Stderr = validText(merged), validText(stdout), validText(stderr)
	return part
}

func (p OutputPart) text() string {
	var b strings.Builder
	if p.Lost > 0 {
		fmt.Fprintf(&b, "[%d bytes are not kept any more]\n", p.Lost)
	}
	b.WriteString(p.merged)
	if p.merged != "" && !strings.HasSuffix(p.merged, "\n") {
		b.WriteString("\n")
	}
	if p.merged == "" && p.State == string(api.ProcessRunning) {
		b.WriteString("[no output yet]\n")
	}
	end := ""
	if p.State == string(api.ProcessEnded) {
		end = p.ProcessEnd.text()
	} else if end = "running"; p.More {
		end = "more output is there"
	}
	fmt.Fprintf(&b, "[%s; next_offset %d]\n", end, p.Next)
	return b.String()
}

// SendInput are the arguments of send_input.
type SendInput struct {
	Session string  `json:"session_id" jsonschema:"id of the session"`
	Process int     `json:"process_id" jsonschema:"number of the process"`
	Input   Content `json:"input,omitempty" jsonschema:"what it reads: text, or an object with base64; end a line with a newline"`
	End     bool    `json:"end,omitempty" jsonschema:"whether its stdin ends with this"`
}

// SendSignal are the arguments of send_signal.
type SendSignal struct {
	Session string     `json:"session_id" jsonschema:"id of the session"`
	Process int        `json:"process_id" jsonschema:"number of the process"`
	Signal  api.Signal `json:"signal,omitempty" jsonschema:"name of the signal: SIGINT as Ctrl-C, SIGTERM, SIGKILL and others; none: SIGTERM"`
}

// addProcesses adds the tools for programs that stay.
func addProcesses(s *sdk.Server, of liveOf) {
	add(s, tool{name: "start_process", title: "Start a process", effect: another,
		about: "Start a program that goes on after the call, such as a server, in a session. Read what it writes with read_output."},
		func(ctx context.Context, in StartProcess) (ProcessInfo, error) {
			p, err := planProcess(in)
			if err != nil {
				return ProcessInfo{}, err
			}
			made, err := of(ctx).StartProcess(ctx, in.Session, p)
			return tellProcess(made), err
		})

	add(s, tool{name: "list_processes", title: "List processes", effect: reads,
		about: "List the processes of a session that start_process has started."},
		func(ctx context.Context, in ListProcesses) (ProcessList, error) {
			all, err := of(ctx).Processes(ctx, in.Session)
			return tellProcesses(all), err
		})

	add(s, tool{name: "read_output", title: "Read the output of a process", effect: reads,
		about: "Read what a process wrote from an offset on, 32 KiB at a time, and whether it has ended."},
		func(ctx context.Context, in ReadOutput) (OutputPart, error) {
			wait, err := planOutput(in)
			if err != nil {
				return OutputPart{}, err
			}
			out, err := of(ctx).Output(ctx, in.Session, in.Process, in.Offset, wait)
			if err != nil || !out.Ended {
				return tellOutput(out, api.Process{}), err
			}
			p, err := of(ctx).Process(ctx, in.Session, in.Process)
			return tellOutput(out, p), err
		})

	add(s, tool{name: "send_input", title: "Write to the stdin of a process", effect: another,
		about: "Write to the stdin of a process."},
		func(ctx context.Context, in SendInput) (Done, error) {
			err := of(ctx).SendStdin(ctx, in.Session, in.Process, in.Input, in.End)
			done := fmt.Sprintf("process %d got %d bytes", in.Process, len(in.Input))
			if in.End {
				done += ", and its stdin has ended"
			}
			return Done{done}, err
		})

	add(s, tool{name: "send_signal", title: "Send a signal to a process", effect: another,
		about: "Send a signal to a process, to interrupt or to end it. read_output says when it has ended."},
		func(ctx context.Context, in SendSignal) (Done, error) {
			signal := cmp.Or(in.Signal, "SIGTERM")
			err := of(ctx).SendSignal(ctx, in.Session, in.Process, signal)
			return Done{fmt.Sprintf("%s was sent to process %d", signal, in.Process)}, err
		})
}
