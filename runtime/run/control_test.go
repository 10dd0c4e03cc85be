package run

import (
	"testing"

	"github.com/brig-sandbox/brig/runtime/outputs"
)

// A message of control is passed on when all older output was, and meanwhile nothing younger is read.
func TestControlIsDue(t *testing.T) {
	for _, tt := range []struct {
		name  string
		waits bool
		owed  [2]int64
		ended [2]bool
		due   bool
		holds [2]bool
	}{
		{"no message", false, [2]int64{}, [2]bool{}, false, [2]bool{}},
		{"nothing older", true, [2]int64{}, [2]bool{}, true, [2]bool{true, true}},
		{"older stdout", true, [2]int64{1, 0}, [2]bool{}, false, [2]bool{false, true}},
		{"older stderr", true, [2]int64{-3, 7}, [2]bool{}, false, [2]bool{true, false}},
		{"a chunk had younger output, too", true, [2]int64{-3, 0}, [2]bool{}, true, [2]bool{true, true}},
		{"older output that ended", true, [2]int64{5, 0}, [2]bool{true, true}, true, [2]bool{false, true}},
	} {
		out := new(outputs.Streams)
		c := &control{Stream: new(outputs.Stream), waits: tt.waits, owed: tt.owed}
		for i := range out {
			out[i].Ended = tt.ended[i]
		}
		if got := c.due(out); got != tt.due {
			t.Errorf("%s: due %v", tt.name, got)
		}
		for i := range out {
			if got := c.holds(i); got != tt.holds[i] {
				t.Errorf("%s: holds %d: %v", tt.name, i, got)
			}
		}
	}

	var none *control
	none.read(0, 1)
	if none.holds(0) {
		t.Error("a program without control waits for it")
	}
}
