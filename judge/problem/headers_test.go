package problem_test

import (
	"testing"

	"github.com/brig-sandbox/brig/judge/problem"
)

func TestHeaders(t *testing.T) {
	for name, want := range map[string]bool{"a.h": true, "d/a.hpp": true, "a.hh": true, "a.hxx": true, "a.H": true, "a.tpp": true,
		"a.cpp": false, "h": false, "a.h.txt": false} {
		if problem.IsHeader(name) != want {
			t.Errorf("%s is a header: %t", name, !want)
		}
	}
}
