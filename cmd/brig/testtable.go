package main

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/client"
)

// A testTable shows tests as they end, in their own order: what ends early waits
// for those before it. On a terminal a line below counts all that have ended.
type testTable struct {
	out      io.Writer
	terminal bool
	silent   bool // --json
	ids      []string
	width    int
	ended    map[string]api.TestResult
	shown    int // of ids
	c        *console
}

func newTestTable(c *console, o *runOptions) *testTable {
	t := &testTable{out: c.stdout, terminal: isTerminal(c.stdout), silent: o.json, ended: map[string]api.TestResult{}, c: c, width: len("test")}
	for _, p := range o.pairs {
		t.ids = append(t.ids, p.id)
		t.width = max(t.width, utf8.RuneCountInString(p.id))
	}
	return t
}

func (t *testTable) events() client.Events {
	return client.Events{
		Compiled: func(made api.Compilation) {
			if !t.silent {
				t.c.compilerSaid(made.Stdout, made.Stderr)
			}
		},
		Test: func(one api.TestResult) {
			t.ended[one.ID] = one
			t.show(false)
		},
	}
}

// show prints the tests whose turn has come; at the end, all that ran.
func (t *testTable) show(all bool) {
	if t.silent {
		return
	}
	if t.terminal {
		fmt.Fprint(t.out, "\r\x1b[K") // away with the line that counts
	}
	for ; t.shown < len(t.ids); t.shown++ {
		one, ok := t.ended[t.ids[t.shown]]
		if !ok && !all {
			break
		}
		if ok {
			fmt.Fprintln(t.out, t.row(one))
		}
	}
	if t.terminal && !all {
		fmt.Fprintf(t.out, "%d of %d", len(t.ended), len(t.ids))
	}
}

func (t *testTable) row(one api.TestResult) string {
	answer := string(one.Answer)
	if answer == "" {
		answer = "-"
	}
	cells := []string{
		fmt.Sprintf("%-*s", t.width, one.ID), fmt.Sprintf("%-12s", one.Result.Verdict), fmt.Sprintf("%-12s", answer),
		fmt.Sprintf("%8s", shortSpan(one.Result.Usage.CPU)), fmt.Sprintf("%7s", bytesOf(one.Result.Usage.Memory)), one.Difference,
	}
	if t.terminal && !one.Accepted() {
		cells[1], cells[2] = "\x1b[31m"+cells[1], cells[2]+"\x1b[m"
	}
	return strings.TrimRight(strings.Join(cells, "  "), " ")
}

// end prints what is left, and what it all comes to.
func (t *testTable) end(res api.Result) {
	t.show(true)
	s := res.Summary
	if s == nil || t.silent || s.Ran == 0 && res.Verdict == api.CompileError { // the compiler's words are told instead
		return
	}
	line := tallyOf(*s)
	if s.Verdict != api.OK {
		line += ", worst verdict: " + string(s.Verdict)
	}
	fmt.Fprintf(t.out, "%s; at most %s of processor time and %s of memory\n", line,
		shortSpan(api.Known(s.MaxCPU, "")), bytesOf(api.Known(s.MaxMemory, "")))
}

// tallyOf counts the tests, and names the first that failed.
func tallyOf(s api.Summary) string {
	line := fmt.Sprintf("%d of %d accepted", s.Accepted, s.Tests)
	if s.Ran < s.Tests {
		line += fmt.Sprintf(", %d not run", s.Tests-s.Ran)
	}
	if s.FirstFailed != "" {
		line += ", first failed: " + s.FirstFailed
	}
	return line
}

// firstFailure says of the first test that ended badly why it did, and what to do: the table
// has a place only for the difference of a wrong answer. Empty where no test did.
func firstFailure(res api.Result) string {
	for _, one := range res.Tests {
		d := one.Result.Diagnosis
		if d == nil {
			continue
		}
		why := sentence(one.Result)
		switch own := d.Type != string(one.Result.Verdict) && d.Type != one.Result.SignalName; {
		case own && (one.Result.Verdict == api.Nonzero || one.Result.Verdict == api.Signaled):
			why = d.Type + ": " + d.Message
		case one.Result.Verdict == api.Nonzero && !strings.HasSuffix(why, d.Message):
			why += ": " + d.Message // its last line
		}
		text := fmt.Sprintf("brig: test %s: %s%s\n", one.ID, placeOf(*d), why)
		if d.Hint != "" {
			text += "brig: hint: " + d.Hint + "\n"
		}
		return text
	}
	return ""
}

// shortSpan writes a time in the width of a column.
func shortSpan(f api.Figure) string {
	if f.Value == nil {
		return "unknown"
	}
	switch d := time.Duration(*f.Value); {
	case d < 10*time.Millisecond:
		return d.Round(10 * time.Microsecond).String()
	case d < time.Second:
		return d.Round(100 * time.Microsecond).String()
	default:
		return d.Round(time.Millisecond).String()
	}
}
