package api_test

import (
	"reflect"
	"testing"

	"github.com/brig-sandbox/brig/api"
)

func TestSummarize(t *testing.T) {
	test := func(id string, v api.Verdict, a api.Answer, memory int64) api.TestResult {
		return api.TestResult{ID: id, Answer: a, Result: api.Result{
			Verdict: v, Usage: api.Usage{Memory: api.Known(memory, "x"), CPU: api.Unknown("x")}, Timing: api.Timing{Wall: 10 * memory},
		}}
	}

	for _, c := range []struct {
		name    string
		asked   int
		results []api.TestResult
		want    api.Summary
	}{
		{"all right", 2, []api.TestResult{test("a", api.OK, api.Accepted, 1), test("b", api.OK, api.Accepted, 3)},
			api.Summary{Tests: 2, Ran: 2, Accepted: 2, Verdict: api.OK, Answer: api.Accepted, MaxMemory: 3, MaxWall: 30}},
		{"a wrong answer and worse", 3,
			[]api.TestResult{test("a", api.OK, api.Accepted, 1), test("b", api.OK, api.WrongAnswer, 9), test("c", api.CPULimit, "", 2)},
			api.Summary{Tests: 3, Ran: 3, Accepted: 1, Verdict: api.CPULimit, Answer: api.WrongAnswer, FirstFailed: "b", MaxMemory: 9, MaxWall: 90}},
		{"nothing was compared", 1, []api.TestResult{test("a", api.OK, "", 1)},
			api.Summary{Tests: 1, Ran: 1, Accepted: 1, Verdict: api.OK, MaxMemory: 1, MaxWall: 10}},
		{"stopped at the first", 9, []api.TestResult{test("a", api.Nonzero, "", 1)},
			api.Summary{Tests: 9, Ran: 1, Verdict: api.Nonzero, FirstFailed: "a", MaxMemory: 1, MaxWall: 10}},
		{"some were not compared", 2, []api.TestResult{test("a", api.OK, api.Accepted, 1), test("b", api.OK, "", 1)},
			api.Summary{Tests: 2, Ran: 2, Accepted: 2, Verdict: api.OK, MaxMemory: 1, MaxWall: 10}},
		{"nothing compiled", 2, nil, api.Summary{Tests: 2, Verdict: api.OK}},
	} {
		if got := api.Summarize(c.asked, c.results); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v; want %+v", c.name, got, c.want)
		}
	}
}

func TestEveryVerdictHasASeverity(t *testing.T) {
	all := []api.Verdict{api.OK, api.Nonzero, api.Signaled, api.OutputLimit, api.WallLimit, api.CPULimit, api.MemoryLimit, api.Denied,
		api.CompileError, api.Canceled}
	for i := range all[1:] {
		if !all[i+1].Worse(all[i]) || all[i].Worse(all[i+1]) {
			t.Errorf("%s is not worse than %s", all[i+1], all[i])
		}
	}
}

func TestDecisive(t *testing.T) {
	one := func(v api.Verdict, code int) api.TestResult {
		return api.TestResult{Result: api.Result{Verdict: v, ExitCode: code}}
	}
	for _, c := range []struct {
		name string
		r    api.Result
		want int // exit code
	}{
		{"no tests", api.Result{Verdict: api.Nonzero, ExitCode: 7}, 7},
		{"the first of the worst",
			api.Result{Verdict: api.Nonzero, Tests: []api.TestResult{one(api.OK, 0), one(api.Nonzero, 2), one(api.Nonzero, 3)}}, 2},
		{"it was not kept", api.Result{Verdict: api.Nonzero, ExitCode: 2, Tests: []api.TestResult{one(api.OK, 0)}}, 2},
	} {
		if got := c.r.Decisive().ExitCode; got != c.want {
			t.Errorf("%s: exit code %d; want %d", c.name, got, c.want)
		}
	}
}
