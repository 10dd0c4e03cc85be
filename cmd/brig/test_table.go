package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/brig-sandbox/brig/agent/client"
	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/terminal"
	"github.com/brig-sandbox/brig/judge/grade"
)

// A testTable prints tests as they end, in their own order: a test that ends early waits for those
// before it. On a terminal a line below counts the tests that have ended. A column has one unit, so
// that its numbers can be compared and parsed.
type testTable struct {
	out      io.Writer
	terminal bool
	silent   bool // --json
	ids      []string
	width    int
	ended    map[string]api.TestResult
	shown    int // number of ids
	headed   bool
	c        *cli
}

func newTestTable(c *cli, o *runOptions) *testTable {
	t := &testTable{out: c.stdout, terminal: isTerminal(c.stdout), silent: o.json, ended: map[string]api.TestResult{},
		c: c, width: len("TEST")}
	for _, one := range o.problem.Tests {
		t.ids = append(t.ids, one.ID)
		t.width = max(t.width, utf8.RuneCountInString(terminal.Quote(one.ID)))
	}
	return t
}

// add adds a case of a suite, which has no line of its own before.
func (t *testTable) add(one api.TestResult) {
	t.ids = append(t.ids, one.ID)
	t.width = max(t.width, utf8.RuneCountInString(terminal.Quote(one.ID)))
	t.ended[one.ID] = one
}

func (t *testTable) events() client.Events {
	return client.Events{
		Compiled: func(made api.Compilation) {
			if !t.silent {
				t.c.printCompilerOutput(made.Stdout, made.Stderr)
			}
		},
		Test: func(one api.TestResult) {
			t.ended[one.ID] = one
			t.show(false)
		},
	}
}

// show prints the tests that are next in order and have ended; with all, every test that ran.
func (t *testTable) show(all bool) {
	if t.silent {
		return
	}
	if t.terminal {
		fmt.Fprint(t.out, "\r\x1b[K") // erase the line that counts
	}

	for ; t.shown < len(t.ids); t.shown++ {
		one, ok := t.ended[t.ids[t.shown]]
		if !ok && !all {
			break
		}
		if ok {
			t.row(one)
		}
	}

	if t.terminal && !all {
		fmt.Fprintf(t.out, "%d of %d", len(t.ended), len(t.ids))
	}
}

// row prints a test, and the names of the columns above the first one.
func (t *testTable) row(one api.TestResult) {
	if !t.headed {
		t.headed = true
		fmt.Fprintf(t.out, "%-*s  %-6s  %-12s  %9s  %9s  %s\n", t.width, "TEST", "RESULT", "VERDICT",
			"CPU(ms)", "MEM(MiB)", "WHY")
	}

	verdict := string(one.Result.Verdict)
	if one.Result.Verdict == api.OK {
		verdict = string(cmp.Or(one.Answer, api.Accepted))
	}

	ended := fmt.Sprintf("%-6s  %-12s", grade.Word(one), verdict)
	if t.terminal && !one.Accepted() {
		ended = "\x1b[31m" + ended + "\x1b[m"
	}

	line := fmt.Sprintf("%-*s  %s  %9s  %9s  %s", t.width, terminal.Quote(one.ID), ended, inMillis(one.Result.Usage.CPU),
		inMiB(memoryOf(one.Result.Usage)), terminal.OneLine(whyFailed(one)))
	fmt.Fprintln(t.out, strings.TrimRight(line, " "))
}

// whyFailed is the difference of a wrong answer, what its checker says, or what ended the program; empty
// for a test that was accepted.
func whyFailed(one api.TestResult) string {
	switch {
	case one.Difference != "":
		return one.Difference
	case one.Result.Verdict == api.OK && one.Score != nil && one.Answer == api.Partial:
		return strings.TrimSpace(fmt.Sprintf("score %.4g %s", *one.Score, one.Message))
	case one.Result.Verdict == api.OK && !one.Accepted():
		return one.Message
	case one.Result.Verdict == api.OK:
		return ""
	}

	_, why, _ := strings.Cut(verdictText(one.Result, ""), ": ")
	why, _, _ = strings.Cut(why, " (")
	return why
}

// memoryOf is the memory of a run as its author understands it: the peak of all processes together
// that was charged to the run, or the largest resident process if that is more. A page of the
// image that was already in memory is charged to no run, so the charge alone may be close to zero.
func memoryOf(u api.Usage) api.Measurement {
	if u.Memory.Value == nil || u.MaxRSS.Value != nil && *u.MaxRSS.Value > *u.Memory.Value {
		return u.MaxRSS
	}
	return u.Memory
}

// maxMemory is the largest memoryOf of tests, in bytes.
func maxMemory(tests []api.TestResult) int64 {
	var maximum int64
	for _, one := range tests {
		if m := memoryOf(one.Result.Usage).Value; m != nil {
			maximum = max(maximum, *m)
		}
	}
	return maximum
}

// end prints the remaining tests and the summary.
func (t *testTable) end(res api.Result) {
	t.show(true)
	s := res.Summary
	if s == nil || t.silent {
		return
	}

	line := summaryText(*s)
	if s.Ran == 0 && res.Verdict == api.CompileError {
		line = "CE: " + line
	}
	if s.Verdict != api.OK {
		line += ", worst verdict: " + string(s.Verdict)
	}
	if s.Ran > 0 {
		line += fmt.Sprintf("; at most %s ms of processor time and %s MiB of memory", inMillis(api.Known(s.MaxCPU, "")),
			inMiB(api.Known(maxMemory(res.Tests), "")))
	}

	fmt.Fprintln(t.out, terminal.OneLine(line))
}

// summaryText counts the tests, and names the first that failed.
func summaryText(s api.Summary) string {
	line := fmt.Sprintf("%d of %d accepted", s.Accepted, s.Tests)
	if s.Ran < s.Tests {
		line += fmt.Sprintf(", %d not run", s.Tests-s.Ran)
	}
	if s.FirstFailed != "" {
		line += ", first failed: " + terminal.Quote(s.FirstFailed)
	}
	return line
}

// firstFailure says why the first test with a diagnosis failed, and what to do: the table has space
// only for the difference of a wrong answer. It is empty if there is no such test.
func firstFailure(res api.Result, profile string) string {
	for _, one := range res.Tests {
		d := one.Result.Diagnosis
		if d == nil {
			continue
		}
		why := explained(*d, one.Result, verdictText(one.Result, profile))
		text := fmt.Sprintf("brig: test %s: %s%s\n", terminal.Quote(one.ID), terminal.OneLine(positionText(*d)),
			terminal.OneLine(why))
		if d.Hint != "" {
			text += "brig: hint: " + terminal.OneLine(d.Hint) + "\n"
		}
		return text
	}

	return ""
}

// explained adds what a diagnosis of a result says to the text of its verdict, or replaces it.
func explained(d api.Diagnosis, r api.Result, why string) string {
	switch own := d.Type != string(r.Verdict) && d.Type != r.SignalName; {
	case own && (r.Verdict == api.Nonzero || r.Verdict == api.Signaled):
		return d.Type + ": " + d.Message
	case r.Verdict == api.Nonzero && !strings.HasSuffix(why, d.Message):
		return why + ": " + d.Message // its last line
	}
	return why
}

// failureText says in one line why a test failed: its difference, or what the diagnosis says.
func failureText(one api.TestResult) string {
	why := whyFailed(one)
	if d := one.Result.Diagnosis; d != nil && one.Difference == "" {
		return positionText(*d) + explained(*d, one.Result, why)
	}
	return why
}

// inMillis formats nanoseconds in the unit of the column.
func inMillis(f api.Measurement) string {
	if f.Value == nil {
		return "unknown"
	}
	return fmt.Sprintf("%.1f", float64(*f.Value)/1e6)
}

// inMiB formats bytes in the unit of the column.
func inMiB(f api.Measurement) string {
	if f.Value == nil {
		return "unknown"
	}
	return fmt.Sprintf("%.1f", float64(*f.Value)/float64(api.MiB))
}
