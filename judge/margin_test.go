package judge_test

import (
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/judge"
)

// No number is so large or so small that a comparison takes it for another one.
func TestNumbersThatFloat64CannotHold(t *testing.T) {
	zero, little, half := 0.0, 1e-9, 0.5
	absolute := func(v *float64) api.Compare { return api.Compare{How: api.CompareKattis, Absolute: v} }
	relative := func(v *float64) api.Compare { return api.Compare{How: api.CompareKattis, Relative: v} }
	float := api.Compare{How: api.CompareFloat, Tolerance: 1e-6}
	json := api.Compare{How: api.CompareJSON, Tolerance: 1e-6}

	for _, row := range []struct {
		compare       api.Compare
		expected, got string
		want          bool
	}{
		{absolute(&zero), "0", "1e-4000", false},
		{absolute(&zero), "1e-4000", "0", false},
		{absolute(&zero), "0", "-0.00e-4000", true},
		{absolute(&zero), "1e-4000", "10e-4001", true},
		{absolute(&zero), "1e4000", "10e3999", true},
		{absolute(&zero), "1e4000", "1e4001", false},
		{absolute(&little), "0", "1e-4000", true},
		{absolute(&little), "1e4000", "-1e4000", false},
		{absolute(&little), "0", "1e-900000000", true},
		{absolute(&little), "1", "1e900000000", false},
		{relative(&half), "1e4000", "1.4e4000", true},
		{relative(&half), "1e4000", "1.6e4000", false},
		{relative(&half), "1e-4000", "1.4e-4000", true},
		{relative(&half), "1e-4000", "1.6e-4000", false},
		{relative(&half), "0", "1e-4000", false},
		{relative(&half), "1e4000", "word", false},
		{float, "1e400", "1.0000001e400", true},
		{float, "1e400", "1.1e400", false},
		{float, "0", "1e-4000", true},
		{json, "1e400", "1.0000001e400", true},
		{json, "1e400", "1.1e400", false},
		{json, "0", "1e-4000", true},
	} {
		ok, difference, err := judge.Accepts(row.compare, []byte(row.expected), []byte(row.got))
		if err != nil || ok != row.want {
			t.Errorf("%v: expected %s, got %s: accepted %v %q %v; want %v",
				row.compare, row.expected, row.got, ok, difference, err, row.want)
		}
	}
}

// A number of a million digits costs no more than reading it.
func TestLongNumbersAreCheap(t *testing.T) {
	little := 1e-9
	long := strings.Repeat("7", 1_000_000)
	begun := time.Now()
	ok, _, err := judge.Accepts(api.Compare{How: api.CompareKattis, Relative: &little}, []byte(long), []byte(long[1:]+"8"))
	if took := time.Since(begun); !ok || err != nil || took > 5*time.Second {
		t.Errorf("accepted %v, %v, after %v; want true at once", ok, err, took)
	}
}
