package plan

import (
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/judge"
)

func TestOutOfHeap(t *testing.T) {
	peak := &Run{OOMExitCode: 77, Limits: api.Limits{Memory: 100 * api.MiB}}
	says := &Run{OOMExitCode: 77, OOMMessage: "out of heap", Limits: peak.Limits}
	aborts := &Run{OOMExitCode: 134, OOMMessage: "Out of memory.|---> OutOfMemory", Limits: peak.Limits}
	for _, tt := range []struct {
		name string
		plan *Run
		ev   judge.Evidence
		tail string
		want bool
	}{
		{"near the limit", peak, judge.Evidence{ExitCode: 77, Peak: 90 * api.MiB}, "", true},
		{"far from the limit", peak, judge.Evidence{ExitCode: 77, Peak: 90*api.MiB - 1}, "", false},
		{"with an unknown peak", peak, judge.Evidence{ExitCode: 77}, "", false},
		{"a signal", peak, judge.Evidence{Signal: 6, ExitCode: 77, Peak: 100 * api.MiB}, "", false},
		{"another exit code", peak, judge.Evidence{ExitCode: 78, Peak: 100 * api.MiB}, "", false},
		{"no exit code declared", &Run{Limits: peak.Limits}, judge.Evidence{Peak: 100 * api.MiB}, "", false},
		{"said far from the limit", says, judge.Evidence{ExitCode: 77, Peak: api.MiB}, "vm: out of heap\n", true},
		{"said with another exit code", says, judge.Evidence{ExitCode: 1}, "vm: out of heap\n", false},
		{"not said, near the limit", says, judge.Evidence{ExitCode: 77, Peak: 100 * api.MiB}, "I exit with 77\n", false},
		{"said and aborted", aborts, judge.Evidence{Signal: 6, ExitCode: -1}, "Out of memory.\n", true},
		{"said in another way", aborts, judge.Evidence{Signal: 6, ExitCode: -1}, "Broken\n ---> OutOfMemory: x\n   at f\n", true},
		{"refused a thread", aborts, judge.Evidence{Signal: 6, ExitCode: -1, PidsHits: 1, Peak: 49 * api.MiB}, "Out of memory.\n", false},
		{"refused a thread near the limit", aborts, judge.Evidence{Signal: 6, ExitCode: -1, PidsHits: 1, Peak: 90 * api.MiB},
			"Out of memory.\n", true},
		{"said and killed", aborts, judge.Evidence{Signal: 9, ExitCode: -1}, "Out of memory.\n", false},
		{"aborted for another reason", aborts, judge.Evidence{Signal: 6, ExitCode: -1}, "boom\n", false},
	} {
		if got := tt.plan.OutOfHeap(tt.ev, []byte(tt.tail)); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}
