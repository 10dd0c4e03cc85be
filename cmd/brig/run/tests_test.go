package run

import (
	"bytes"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/cmd/brig/cli"
	"github.com/brig-sandbox/brig/judge/problem"
)

// The reason of the first failure, for which the table has no space, is printed below it, once.
func TestReportSaysWhyTheFirstTestFailed(t *testing.T) {
	failed := func(id string, r api.Result) api.TestResult { return api.TestResult{ID: id, Result: r} }
	wrong := api.TestResult{ID: "wrong", Answer: api.WrongAnswer, Difference: "line 1", Result: api.Result{Verdict: api.OK}}
	for _, tt := range []struct {
		name  string
		tests []api.TestResult
		want  string
	}{
		{"all is well", []api.TestResult{failed("1", api.Result{Verdict: api.OK})}, ""},
		{"a wrong answer is in the table", []api.TestResult{wrong}, ""},
		{"an exception of the language", []api.TestResult{
			wrong,
			failed("2", api.Result{Verdict: api.Nonzero, ExitCode: 1,
				Stderr: api.Bytes("Traceback (most recent call last):\n  File \"/box/a.py\", line 3, in <module>\n" +
					"ZeroDivisionError: division by zero\n")}),
			failed("3", api.Result{Verdict: api.Nonzero, ExitCode: 9}),
		}, "brig: test 2: a.py:3: ZeroDivisionError: division by zero\nbrig: hint: look for a division whose divisor can be 0\n"},
		{"an exit code alone", []api.TestResult{failed("1", api.Result{Verdict: api.Nonzero, ExitCode: 3})},
			"brig: test 1: nonzero: exit code 3\n"},
		{"its last line", []api.TestResult{failed("1", api.Result{Verdict: api.Nonzero, ExitCode: 2, Stderr: api.Bytes("a\nusage: a N\n")})},
			"brig: test 1: nonzero: exit code 2: usage: a N\n"},
		{"a limit", []api.TestResult{failed("1", api.Result{Verdict: api.OutputLimit, Limits: api.Defaults()})},
			"brig: test 1: output-limit: wrote more than 16M to one stream (raise --output)\nbrig: hint: look for a " +
				"loop that prints without end, or print less\n"},
	} {
		for _, quiet := range []bool{false, true} {
			var out, errs bytes.Buffer
			c := &cli.CLI{Stdout: &out, Stderr: &errs}
			o := &runOptions{testsDir: "tests", quiet: quiet, run: api.Run{Language: "python", SourceName: "a.py"}}
			res := api.Result{Verdict: api.Nonzero, Tests: tt.tests, Summary: &api.Summary{Tests: len(tt.tests), Ran: len(tt.tests)}}
			o.explain(&res, nil)
			printReport(c, o, res)
			if want := map[bool]string{false: tt.want}[quiet]; errs.String() != want {
				t.Errorf("%s, quiet %v: %q; want %q", tt.name, quiet, errs.String(), want)
			}
		}
	}
}

// The table has one unit per column, the abbreviations of judges, and memory that is never close to
// zero: image pages that are in memory already are charged to no run.
func TestTableOfTests(t *testing.T) {
	one := func(id string, v api.Verdict, a api.Answer, cpu, charged, resident int64) api.TestResult {
		return api.TestResult{ID: id, Answer: a,
			Result: api.Result{Verdict: v, ExitCode: 3, SignalName: "SIGSEGV", Signal: 11, Limits: api.Defaults().Resolve(),
				Usage: api.Usage{CPU: api.Known(cpu, ""), Memory: api.Known(charged, ""), MaxRSS: api.Known(resident, "")}}}
	}

	wrong := one("10", api.OK, api.WrongAnswer, 13_600_000, 12<<10, 3<<20)
	wrong.Difference = "line 1: expected 3"
	unknown := api.TestResult{ID: "u",
		Result: api.Result{Verdict: api.Canceled, Usage: api.Usage{CPU: api.Unknown("?"), Memory: api.Unknown("?"), MaxRSS: api.Unknown("?")}}}
	tests := []api.TestResult{
		one("1", api.OK, api.Accepted, 730_000, 0, 3<<20), wrong, one("sub/11", api.WallLimit, "", 1_001_000_000, 400<<20, 399<<20),
		one("12", api.MemoryLimit, "", 0, 512<<20, 0), one("13", api.Nonzero, "", 0, 0, 0), one("14", api.Signaled, "", 0, 0, 0),
		one("15", api.OutputLimit, "", 0, 0, 0), unknown,
	}

	o := &runOptions{testsDir: "tests", problem: new(problem.Problem)}
	for _, r := range tests {
		o.problem.Tests = append(o.problem.Tests, problem.Test{ID: r.ID})
	}

	var out bytes.Buffer
	table := newTestTable(&cli.CLI{Stdout: &out}, o)
	for _, r := range tests {
		table.events().Test(r)
	}

	table.end(api.Result{Verdict: api.MemoryLimit, Tests: tests,
		Summary: &api.Summary{Tests: 8, Ran: 8, Accepted: 1, FirstFailed: "10", Verdict: api.MemoryLimit, MaxCPU: 1_001_000_000}})
	const want = `TEST    RESULT  VERDICT         CPU(ms)   MEM(MiB)  WHY
1       AC      accepted            0.7        3.0
10      WA      wrong-answer       13.6        3.0  line 1: expected 3
sub/11  TLE     wall-limit       1001.0      400.0  ran for 30s
12      MLE     memory-limit        0.0      512.0  used 512M of 512M
13      RE      nonzero             0.0        0.0  exit code 3
14      RE      signaled            0.0        0.0  SIGSEGV
15      OLE     output-limit        0.0        0.0  wrote more than 16M to one stream
u       -       canceled        unknown    unknown
1 of 8 accepted, first failed: 10, worst verdict: memory-limit; at most 1001.0 ms of processor time and 512.0 MiB of memory
`

	if out.String() != want {
		t.Errorf("it is\n%s\nwant\n%s", out.String(), want)
	}
}

// A compile error has a summary line too: a loop over submissions reads the last line.
func TestTableOfACompileError(t *testing.T) {
	var out bytes.Buffer
	o := &runOptions{testsDir: "tests", problem: &problem.Problem{Tests: []problem.Test{{ID: "1"}, {ID: "2"}}}}
	table := newTestTable(&cli.CLI{Stdout: &out}, o)
	table.end(api.Result{Verdict: api.CompileError, Summary: &api.Summary{Tests: 2, Verdict: api.CompileError}})
	if want := "CE: 0 of 2 accepted, 2 not run, worst verdict: compile-error\n"; out.String() != want {
		t.Errorf("it is %q; want %q", out.String(), want)
	}
}
