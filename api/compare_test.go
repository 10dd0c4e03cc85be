package api

import (
	"math"
	"strings"
	"testing"
)

func TestCompareValidate(t *testing.T) {
	for _, tt := range []struct {
		name    string
		compare Compare
		want    string // in the error; empty: none
	}{
		{"nothing set", Compare{}, ""},
		{"a tolerance for float", Compare{How: CompareFloat, Tolerance: 1e-9}, ""},
		{"an unknown way", Compare{How: "words"}, "use lines, tokens, float, exact, kattis"},
		{"a tolerance that the comparison ignores", Compare{How: CompareTokens, Tolerance: 1e-9}, "not float"},
		{"a negative one", Compare{How: CompareFloat, Tolerance: -1}, "positive"},
		{"one that is no number", Compare{How: CompareFloat, Tolerance: math.NaN()}, "positive"},
		{"an endless one", Compare{How: CompareFloat, Tolerance: math.Inf(1)}, "positive"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.compare.Validate()
			if (err != nil) != (tt.want != "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Validate: %v; want %q", err, tt.want)
			}
		})
	}
}
