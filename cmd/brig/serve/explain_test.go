package serve

import (
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
)

func TestExplanation(t *testing.T) {
	test := func(id string, v api.Verdict, a api.Answer, difference string) api.TestResult {
		return api.TestResult{ID: id, Answer: a, Difference: difference, Result: api.Result{Verdict: v, ExitCode: 3}}
	}
	good, bad, broken := test("0", api.OK, api.Accepted, ""), test("1", api.OK, api.WrongAnswer, `line 1: "4" instead of "3"`),
		test("2", api.Nonzero, "", "")
	done := func(v api.Verdict, asked int, tests ...api.TestResult) api.Status {
		r := api.Result{Verdict: v, Tests: tests}
		if asked > 0 {
			s := api.Summarize(asked, tests)
			r.Summary = &s
		}
		return api.Status{Run: "r", Created: time.Unix(0, 0).UTC(), State: api.Done, Result: &r}
	}

	wrongFirst := done(api.Nonzero, 2, bad, broken)
	why := &api.Diagnosis{Category: api.CategoryValue, Type: "ValueError", Message: "x", File: "main.py", Line: 3}
	wrongFirst.Result.Tests[1].Result.Diagnosis, wrongFirst.Result.Diagnosis = why, why
	lost := done(api.OK, 3, good, bad)
	lost.Result.Tests = nil

	for _, tt := range []struct {
		name string
		s    api.Status
		want string // after the first line
	}{
		{"under way", api.Status{State: api.Running}, "state     running\n"},
		{"not judged", api.Status{State: api.Done, Error: &api.Problem{Code: api.CodeInternal, Detail: "no"}},
			"error     no (internal): the program was not judged\n"},
		{"without tests", done(api.OK, 0), "verdict   ok\n"},
		{"all accepted", done(api.OK, 1, good), "verdict   ok\ntests     1 of 1 accepted\n"},
		{"a wrong answer", done(api.OK, 2, good, bad),
			"verdict   ok\ntests     1 of 2 accepted, first failed: 1: line 1: \"4\" instead of \"3\"\n"},
		{"not all ran", done(api.OK, 3, bad),
			"verdict   ok\ntests     0 of 3 accepted, 2 not run, first failed: 1: line 1: \"4\" instead of \"3\"\n"},
		{"the tests were not kept", lost, "verdict   ok\ntests     1 of 3 accepted, 1 not run, first failed: 1\n"},
		{"a test ended badly", done(api.WallLimit, 2, good, broken), "tests     1 of 2 accepted, first failed: 2: nonzero: exit code 3\n"},
		{"an exit code of a test's", done(api.Nonzero, 2, good, broken),
			"verdict   nonzero: exit code 3\ntests     1 of 2 accepted, first failed: 2: nonzero: exit code 3\n"},
		{"the diagnosis is not of the first that failed", wrongFirst,
			"first failed: 1: line 1: \"4\" instead of \"3\"\nwhere     main.py:3, in test 2\nwhat      ValueError (value): x\n"},
		{"no test ran", done(api.CompileError, 2), "verdict   compile-error: the program does not compile\n"},
	} {
		_, rest, _ := strings.Cut(explanation(tt.s), "\n")
		if !strings.HasSuffix(rest, tt.want) {
			t.Errorf("%s:\n%swant\n%s", tt.name, rest, tt.want)
		}
	}
}
