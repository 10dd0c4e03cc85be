package plan

import (
	"testing"

	"github.com/brig-sandbox/brig/api"
)

// What judges a run shares no more with other runs than the run itself does.
func TestWhatJudgesHasTheModeOfTheRun(t *testing.T) {
	pl := &Planner{Memory: api.GiB}
	for _, mode := range []api.Mode{"", api.Strict, api.Fresh, api.Exclusive} {
		if got := pl.runOfChecker(api.Check{Protocol: api.ProtocolExit}, mode).Mode; got != mode {
			t.Errorf("a checker of mode %q has mode %q", mode, got)
		}
		if got := pl.runOfInteractor(api.Interactor{Protocol: api.ProtocolKattis}, mode).Mode; got != mode {
			t.Errorf("an interactor of mode %q has mode %q", mode, got)
		}
	}
}
