package mcp

import (
	"fmt"
	"strings"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// An Outcome is how one program ended.
type Outcome struct {
	Verdict  string `json:"verdict" jsonschema:"how the program ended: ok, nonzero, signaled, cpu-limit, wall-limit, memory-limit, output-limit, denied, compile-error or canceled"`
	Stage    string `json:"stage" jsonschema:"run, or compile if the other fields describe the compiler"`
	ExitCode int    `json:"exit_code" jsonschema:"exit code; -1 if a signal ended the program"`
	Signal   string `json:"signal,omitempty" jsonschema:"the signal that ended the program, such as SIGSEGV"`

	Stdout        string `json:"stdout" jsonschema:"what the program wrote to stdout, without the middle if it is long"`
	Stderr        string `json:"stderr" jsonschema:"what the program wrote to stderr, without the middle if it is long"`
	StdoutLeftOut int64  `json:"stdout_left_out,omitempty" jsonschema:"bytes of stdout that are left out"`
	StderrLeftOut int64  `json:"stderr_left_out,omitempty" jsonschema:"bytes of stderr that are left out"`
	Truncated     bool   `json:"truncated" jsonschema:"whether anything of stdout or stderr is left out"`

	CompilerOutput string `json:"compiler_output,omitempty" jsonschema:"what a compiler that succeeded said, such as warnings"`

	WallMS    int64    `json:"wall_ms" jsonschema:"milliseconds from start to end"`
	CPUMS     *int64   `json:"cpu_ms,omitempty" jsonschema:"milliseconds of processor time; absent if unknown"`
	Memory    *int64   `json:"memory_bytes,omitempty" jsonschema:"peak memory in bytes; absent if unknown"`
	LimitsHit []string `json:"limits_hit" jsonschema:"every limit that was met, decisive or not"`

	Denied string      `json:"denied,omitempty" jsonschema:"the forbidden system call behind the verdict denied, and why it is forbidden"`
	Hint   string      `json:"hint,omitempty" jsonschema:"what probably went wrong, and what helps"`
	Files  []FileSaved `json:"files,omitempty" jsonschema:"files that the program left in /box"`

	Run string `json:"run_id,omitempty" jsonschema:"id of the run; a service keeps its result as the resource brig://runs/ID"`

	SessionEnded string `json:"session_ended,omitempty" jsonschema:"why the session ended with this command"`
}

// A FileSaved is a file that a program left.
type FileSaved struct {
	Name    string `json:"name" jsonschema:"name relative to /box"`
	Size    int64  `json:"size" jsonschema:"size in bytes"`
	Content string `json:"content,omitempty" jsonschema:"the content, if it is short text"`
}

// outcomeOf makes the outcome of a result.
func outcomeOf(r api.Result) Outcome {
	o := Outcome{
		Verdict: string(r.Verdict), Stage: string(r.Stage), ExitCode: r.ExitCode, Signal: r.SignalName, Run: r.Run,
		WallMS: time.Duration(r.Timing.Wall).Milliseconds(), Memory: r.Usage.Memory.Value,
		LimitsHit: append([]string{}, r.LimitsHit...), SessionEnded: r.SessionEnded,
	}

	o.Stdout, o.StdoutLeftOut = clip(r.Stdout, r.Usage.StdoutBytes)
	o.Stderr, o.StderrLeftOut = clip(r.Stderr, r.Usage.StderrBytes)
	o.Truncated = o.StdoutLeftOut+o.StderrLeftOut > 0 || r.StdoutTruncated || r.StderrTruncated
	if cpu := r.Usage.CPU.Value; cpu != nil {
		o.CPUMS = new(time.Duration(*cpu).Milliseconds())
	}
	if c := r.Compile; c != nil {
		o.CompilerOutput, _ = clip(append(append(api.Bytes{}, c.Stdout...), c.Stderr...), 0)
	}
	if d := r.Denial; d != nil {
		o.Denied = strings.Trim(d.Syscall+": "+d.Why, ": ")
	}
	if d := r.Diagnosis; d != nil {
		o.Hint = strings.TrimSpace(d.Message + "\n" + d.Hint)
	}

	o.Files = filesOf(r.Files)
	return o
}

// The most bytes of a file's content in an outcome, and of all files together.
const (
	savedMax    = 4 << 10
	allSavedMax = 16 << 10
)

// filesOf lists the files that a program left, with the content of short ones.
func filesOf(all []api.File) (out []FileSaved) {
	left := allSavedMax
	for _, f := range all {
		one := FileSaved{Name: f.Name, Size: int64(len(f.Content))}
		if text := validText(f.Content); len(f.Content) <= min(savedMax, left) && text == string(f.Content) {
			one.Content = text
			left -= len(text)
		}
		out = append(out, one)
	}
	return out
}

// text says the outcome to a model: the verdict first, then the streams.
func (o Outcome) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "verdict: %s", o.Verdict)
	switch {
	case o.Signal != "":
		fmt.Fprintf(&b, " (%s)", o.Signal)
	case o.ExitCode != 0:
		fmt.Fprintf(&b, " (exit code %d)", o.ExitCode)
	}

	fmt.Fprintf(&b, ", %d ms", o.WallMS)
	if o.Memory != nil {
		fmt.Fprintf(&b, ", %d KiB of memory", *o.Memory>>10)
	}
	b.WriteString("\n")

	for _, part := range []struct{ name, text string }{
		{"limits met", strings.Join(o.LimitsHit, ", ")}, {"denied", o.Denied}, {"hint", o.Hint},
		{"the session has ended", o.SessionEnded}, {"compiler", o.CompilerOutput}, {"stdout", o.Stdout},
		{"stderr", o.Stderr}, {"files in /box", o.fileNames()},
	} {
		if part.text != "" {
			fmt.Fprintf(&b, "%s:\n%s\n", part.name, strings.TrimSuffix(part.text, "\n"))
		}
	}

	if o.Stdout == "" && o.Stderr == "" && o.Stage == string(api.StageRun) {
		b.WriteString("the program wrote nothing: print what you want to see\n")
	}
	return b.String()
}

func (o Outcome) fileNames() string {
	var b strings.Builder
	for _, f := range o.Files {
		fmt.Fprintf(&b, "%q, %d bytes\n", f.Name, f.Size) // a name may look like the next line
	}
	return b.String()
}
