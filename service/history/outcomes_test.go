package history

import (
	"testing"

	"github.com/brig-sandbox/brig/api"
)

// Each verdict and each answer has a letter, and tests that did not run have one.
func TestOutcomes(t *testing.T) {
	want := map[api.Verdict]string{api.OK: "A", api.Nonzero: "R", api.Signaled: "R", api.OutputLimit: "O", api.WallLimit: "T",
		api.CPULimit: "T", api.MemoryLimit: "M", api.Denied: "D", api.CompileError: "C", api.Canceled: "?"}
	for _, v := range api.Verdicts() {
		r := api.Result{Verdict: v, Summary: &api.Summary{Tests: 2}, Tests: []api.TestResult{{Result: api.Result{Verdict: v}}}}
		if got := NewRecord(r).Summary.Outcomes; got != want[v]+"-" {
			t.Errorf("%s: %q", v, got)
		}
	}
	for answer, letter := range map[api.Answer]string{api.Accepted: "A", api.Partial: "P", api.WrongAnswer: "W"} {
		r := api.Result{Summary: &api.Summary{Tests: 1}, Tests: []api.TestResult{{Answer: answer, Result: api.Result{Verdict: api.OK}}}}
		if got := NewRecord(r).Summary.Outcomes; got != letter {
			t.Errorf("%s: %q", answer, got)
		}
	}
	many := api.Result{Stage: api.StageCompile, Summary: &api.Summary{Tests: 5000}}
	if got := NewRecord(many).Summary.Outcomes; len(got) != 1024 || got[0] != 'C' {
		t.Errorf("not compiled: %d letters", len(got))
	}
}
