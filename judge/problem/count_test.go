package problem_test

import (
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/judge/problem"
)

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0 tests", 1: "1 test", 2: "2 tests"} {
		if got := problem.Count(n, "test"); got != want {
			t.Errorf("%q; want %q", got, want)
		}
	}

	p := &problem.Problem{Tests: make([]problem.Test, 1), Generate: &problem.Generation{Inputs: make([]problem.GeneratedInput, 1)}}
	if err := p.Whole(); err == nil ||
		!strings.HasPrefix(err.Error(), "1 file of its 1 test is not in the package: its own programs make it; ") {
		t.Errorf("%v", err)
	}

	p.Generate.Answers = make([]problem.GeneratedAnswer, 1)
	if err := p.Whole(); err == nil ||
		!strings.HasPrefix(err.Error(), "2 files of its 1 test are not in the package: its own programs make them; ") {
		t.Errorf("%v", err)
	}
}
