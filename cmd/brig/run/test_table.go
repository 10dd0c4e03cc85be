package run

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/brig-sandbox/brig/agent/client"
	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/cmd/brig/cli"
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
	c        *cli.CLI
}

func newTestTable(c *cli.CLI, o *runOptions) *testTable {
	t := &testTable{out: c.Stdout, terminal: cli.IsTerminal(c.Stdout), silent: o.json, ended: map[string]api.TestResult{},
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
				printCompilerOutput(t.c, made.Stdout, made.Stderr)
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

	line := fmt.Sprintf("%-*s  %s  %9s  %9s  %s", t.width, terminal.Quote(one.ID), ended, cli.InMillis(one.Result.Usage.CPU),
		cli.InMiB(cli.MemoryOf(one.Result.Usage)), terminal.OneLine(cli.WhyFailed(one)))
	fmt.Fprintln(t.out, strings.TrimRight(line, " "))
}

// end prints the remaining tests and the summary.
func (t *testTable) end(res api.Result) {
	t.show(true)
	s := res.Summary
	if s == nil || t.silent {
		return
	}

	line := cli.SummaryText(*s)
	if s.Ran == 0 && res.Verdict == api.CompileError {
		line = "CE: " + line
	}
	if s.Verdict != api.OK {
		line += ", worst verdict: " + string(s.Verdict)
	}
	if s.Ran > 0 {
		line += fmt.Sprintf("; at most %s ms of processor time and %s MiB of memory", cli.InMillis(api.Known(s.MaxCPU, "")),
			cli.InMiB(api.Known(cli.MaxMemory(res.Tests), "")))
	}

	fmt.Fprintln(t.out, terminal.OneLine(line))
}

// firstFailure says why the first test with a diagnosis failed, and what to do: the table has space
// only for the difference of a wrong answer. It is empty if there is no such test.
func firstFailure(res api.Result, profile string) string {
	for _, one := range res.Tests {
		d := one.Result.Diagnosis
		if d == nil {
			continue
		}
		why := cli.Explained(*d, one.Result, cli.VerdictText(one.Result, profile))
		text := fmt.Sprintf("brig: test %s: %s%s\n", terminal.Quote(one.ID), terminal.OneLine(cli.PositionText(*d)),
			terminal.OneLine(why))
		if d.Hint != "" {
			text += "brig: hint: " + terminal.OneLine(d.Hint) + "\n"
		}
		return text
	}

	return ""
}
