package api

import "testing"

func TestJobScore(t *testing.T) {
	half := 0.5
	for _, test := range []struct {
		name string
		res  Result
		want float64
	}{
		{"the summary's score", Result{Verdict: OK, Summary: &Summary{Tests: 4, Accepted: 4, Score: &half}}, 0.5},
		{"the share of accepted tests", Result{Verdict: Nonzero, Summary: &Summary{Tests: 4, Accepted: 3}}, 0.75},
		{"no test, ended well", Result{Verdict: OK}, 1},
		{"no test, failed", Result{Verdict: Nonzero}, 0},
		{"it does not compile", Result{Verdict: CompileError, Summary: &Summary{Tests: 4}}, 0},
	} {
		if got := JobScore(test.res); got != test.want {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}
