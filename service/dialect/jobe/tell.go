package jobe

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/dialect"
)

// An answer is what POST /runs returns.
type answer struct {
	Run     string `json:"run_id"`
	Outcome int    `json:"outcome"`
	Compile string `json:"cmpinfo"`
	Stdout  string `json:"stdout"`
	Stderr  string `json:"stderr"`
}

// The outcomes that are not of one verdict alone.
const (
	compilation = 11
	failed      = 12 // something was written to stderr
	timeLimit   = 13
	success     = 15
	overload    = 21
)

// segmentationFault is the signal of which the original says nothing.
const segmentationFault = 11

// tell tells the result of a run. stream is how much of each stream is told.
func tell(res api.Result, of language, stream int) answer {
	a := answer{Run: res.Run}
	if a.Compile = compilerSaid(res, of); a.Compile != "" {
		a.Outcome, a.Compile = compilation, clean(a.Compile)
		return a
	}

	if len(res.Tests) > 0 {
		res = res.Tests[0].Result
	}
	a.Outcome = dialect.Verdicts[dialect.Jobe][res.Verdict].Number
	stderr := of.stderrOf(string(cut(res.Stderr, stream)))
	switch {
	case a.Outcome == timeLimit:
		stderr = ""
	case res.Verdict != api.Signaled:
	case res.Signal == segmentationFault:
		stderr = ""
	default:
		stderr += fmt.Sprintf("warning: command terminated with signal %d\n", res.Signal)
	}

	if a.Outcome == success && stderr != "" {
		a.Outcome = failed
	}
	a.Stdout, a.Stderr = clean(string(cut(res.Stdout, stream))), clean(stderr)
	return a
}

// compilerSaid is the text of the compiler. Any text is an error, also the warnings of one that succeeded: the original
// does not execute the program then, and its output is not told.
func compilerSaid(res api.Result, of language) string {
	switch {
	case res.Verdict == api.CompileError || res.Stage == api.StageCompile:
		said := of.compilerSays(res.Stdout, res.Stderr, true)
		switch {
		case len(res.LimitsHit) > 0:
			said += "warning: the compiler reached its limit (" + strings.Join(res.LimitsHit, ", ") + ")\n"
		case res.Signal > 0:
			said += fmt.Sprintf("warning: command terminated with signal %d\n", res.Signal)
		}
		if said == "" {
			said = string(res.Stdout)
		}
		if said == "" {
			said = fmt.Sprintf("the compiler ended with exit code %d\n", res.ExitCode)
		}
		return said
	case res.Compile != nil:
		return of.compilerSays(res.Compile.Stdout, res.Compile.Stderr, false)
	}
	return ""
}

func cut(b api.Bytes, most int) api.Bytes { return b[:min(len(b), most)] }

// clean makes a text of a stream as the original does: of one that is no UTF-8, every byte that is no printable ASCII is
// escaped.
func clean(s string) string {
	if utf8.ValidString(s) {
		return s
	}

	var b strings.Builder
	for i := range len(s) {
		switch c := s[i]; {
		case c == '\n' || c == '\r' || c == '\t', c >= ' ' && c <= '~':
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, `\x%02x`, c)
		}
	}
	return b.String()
}
