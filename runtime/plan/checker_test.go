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

// A file in the place of one that brig adds on each test is refused before anything runs.
func TestNamesOfTheProtocolAreReserved(t *testing.T) {
	pl := &Planner{}
	for _, name := range []string{"judge", "judge/input", "judge/output", "judge/answer/x", "feedback", "feedback/nextpass.in"} {
		_, err := pl.checker(t.Context(), api.Check{Program: api.Program{Files: []api.File{{Name: name}}}, Protocol: api.ProtocolKattis}, "", api.Caller{})
		if !api.HasCode(err, api.CodeBadFile) {
			t.Errorf("a checker with %s: %v", name, err)
		}
		if name == "judge/output" {
			continue
		}
		_, err = pl.interactor(t.Context(), api.Interactor{Program: api.Program{Files: []api.File{{Name: name}}}, Protocol: api.ProtocolKattis}, "", api.Caller{})
		if !api.HasCode(err, api.CodeBadFile) {
			t.Errorf("an interactor with %s: %v", name, err)
		}
	}
	if err := checkNames("check", []api.File{{Name: "testlib.h"}, {Name: "judge/x"}, {Name: "user_out"}}, "a.py", []string{"judge/input", "feedback"}); err != nil {
		t.Error(err)
	}
	if err := checkNames("calls", []api.File{{Name: "solution.py"}}, "", []string{"solution.py"}); !api.HasCode(err, api.CodeBadFile) {
		t.Error(err)
	}
}
