package cli

import (
	"testing"
	"time"
)

// A report says how long the work takes and how far it is, on a terminal with a bar if all of it is known.
func TestProgressLine(t *testing.T) {
	p := new(Progress)
	for _, tt := range []struct {
		state *progressState
		bar   bool
		want  string
	}{
		{nil, true, "brig: x: 3s"},
		{&progressState{step: "a\nb"}, true, `brig: x: 3s, a\nb`},
		{&progressState{"2 of 5 files", 2, 5}, true, "brig: x: 3s, 40% |████████            |, 2 of 5 files"},
		{&progressState{"2 of 5 files", 2, 5}, false, "brig: x: 3s, 2 of 5 files"},
		{&progressState{"7 jobs", 7, 0}, true, "brig: x: 3s, 7 jobs"},
		{&progressState{"", 7, 5}, true, "brig: x: 3s, 100% |████████████████████|"},
	} {
		p.now.Store(tt.state)
		if got := p.line("x", 3*time.Second, tt.bar); got != tt.want {
			t.Errorf("%q; want %q", got, tt.want)
		}
	}
}
