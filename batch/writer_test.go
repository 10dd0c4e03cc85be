package batch

import "testing"

// Lines wait for more, unless enough wait, or no more can come.
func TestLinesAreWrittenInGroups(t *testing.T) {
	w := &writer{more: make(chan struct{}, 1)}
	write := func(n, inFlight int) bool {
		w.write(make([]line, n), inFlight)
		return w.ready()
	}
	for n := 1; n <= 2; n++ {
		if write(1, 3) {
			t.Errorf("%d lines do not wait for three jobs in flight", n)
		}
	}

	if !write(0, 2) {
		t.Error("two lines wait for two jobs in flight")
	}
	if n := len(w.take()); n != 2 || w.ready() {
		t.Errorf("%d lines, and then more at once: %v", n, w.ready())
	}
	if write(groupLines-1, 10_000) || !write(1, 10_000) {
		t.Errorf("a group has not %d lines", groupLines)
	}
	if w.take(); !write(1, 0) {
		t.Error("the last line waits")
	}
}
