package api

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// What contradicts itself or the tests is refused before anything runs, with the cause.
func TestValidateJudging(t *testing.T) {
	run := func(change func(r *Run)) Run {
		r := Run{Language: "python", Source: Bytes("x"), Tests: []Test{{ID: "a/1"}, {ID: "a/2"}, {ID: "b/1"}}}
		change(&r)
		return r
	}

	check := &Check{Program: Program{Image: "tiny", Argv: []string{"x"}}, Protocol: ProtocolExit}
	talk := &Interactor{Program: Program{Image: "tiny", Argv: []string{"x"}}, Protocol: ProtocolKattis}
	groups := func(g ...ScoreGroup) func(r *Run) { return func(r *Run) { r.Groups = g } }
	var deep, wide []ScoreGroup
	for i := range 10 {
		g := ScoreGroup{ID: fmt.Sprint(i)}
		if i > 0 {
			g.Groups = []string{fmt.Sprint(i - 1)}
		}
		deep = append(deep, g)
	}

	for i := range 65 {
		wide = append(wide, ScoreGroup{ID: fmt.Sprint(i)})
	}

	wide = append(wide, ScoreGroup{ID: "all", Requires: strings.Fields(strings.Repeat("1 ", 65))})
	for _, tt := range []struct {
		change func(r *Run)
		want   string // empty: valid
	}{
		{func(r *Run) { r.Check = check; r.Tests[0].CheckArgs = []string{"x"} }, ""},
		{func(r *Run) { r.Interactor = talk; r.Passes = 3 }, ""},
		{func(r *Run) { r.Check = check; r.Tests = nil }, "need tests"},
		{func(r *Run) { r.Check = check; r.Compare.How = CompareExact }, "leave compare out"},
		{func(r *Run) { r.Check = check; r.Tests[0].Compare = &Compare{} }, "leave compare out"},
		{func(r *Run) { r.Check = check; r.Passes = 2 }, "only the protocol kattis"},
		{func(r *Run) { r.Passes = -1 }, "passes is -1"},
		{func(r *Run) { r.Check = &Check{Program: check.Program, Protocol: "spj"} }, `protocol "spj" does not exist`},
		{func(r *Run) { r.Check = &Check{Program: check.Program, Protocol: ProtocolExit, Points: PointsPercent} }, "only testlib's"},
		{func(r *Run) { r.Check = &Check{Protocol: ProtocolExit} }, "names neither a language nor an image"},
		{func(r *Run) { r.Check = &Check{Protocol: ProtocolPython} }, "needs source"},
		{func(r *Run) { r.Check = &Check{Protocol: ProtocolPython, Program: Program{Source: Bytes("x")}} }, ""},
		{func(r *Run) { r.Interactor = &Interactor{Program: talk.Program, Protocol: ProtocolPEG} }, "not one of an interactor"},
		{func(r *Run) {
			r.Interactor = &Interactor{Program: talk.Program, Protocol: ProtocolCMS, Processes: 7, ProgramIO: FIFOIO}
		}, ""},
		{func(r *Run) {
			r.Interactor = &Interactor{Program: talk.Program, Protocol: ProtocolCMS, Processes: 8}
		}, "must be between 0 and 7"},
		{func(r *Run) {
			r.Interactor = &Interactor{Program: talk.Program, Protocol: ProtocolCMS, ProgramIO: "stdio"}
		}, "use std_io or fifo_io"},
		{func(r *Run) {
			r.Interactor = &Interactor{Program: talk.Program, Protocol: ProtocolKattis, Processes: 2}
		}, "for interactors of the protocol cms"},
		{func(r *Run) { r.Interactor = &Interactor{Program: talk.Program, Protocol: ProtocolDMOJ} }, ""},
		{func(r *Run) { r.Check = &Check{Program: check.Program, Protocol: ProtocolNone} }, `protocol "none" does not exist`},
		{func(r *Run) {
			r.Tests = []Test{{ID: "a"}}
			r.Interactor = &Interactor{Program: talk.Program, Protocol: ProtocolNone, Collect: &Collect{Globs: []string{"a"}},
				Env: map[string]string{"A": "b"}}
		}, ""},
		{func(r *Run) {
			r.Interactor = &Interactor{Program: talk.Program, Protocol: ProtocolNone}
			r.Tests = []Test{{ID: "a", Stdin: Bytes("x")}}
		}, "which nobody reads"},
		{func(r *Run) {
			r.Interactor = &Interactor{Program: talk.Program, Protocol: ProtocolKattis, Collect: &Collect{Globs: []string{"a"}}}
		}, "collect is for interactors of the protocol none"},
		{func(r *Run) {
			r.Interactor = &Interactor{Program: talk.Program, Protocol: ProtocolNone, Env: map[string]string{"A=": "b"}}
		}, "A="},
		{func(r *Run) {
			r.Interactor = &Interactor{Program: talk.Program, Protocol: ProtocolTestlib, Points: PointsAbsolute}
		}, ""},
		{func(r *Run) {
			r.Interactor = &Interactor{Program: talk.Program, Protocol: ProtocolCOCI, Points: PointsAbsolute}
		}, "only testlib's"},
		{func(r *Run) {
			r.Interactor = &Interactor{Program: talk.Program, Protocol: ProtocolTestlib, Points: "all"}
		}, `points "all" does not exist`},
		{func(r *Run) { r.Interactor, r.Check = talk, check }, "only if both have the protocol testlib"},
		{func(r *Run) { r.Tests[0].CheckArgs = []string{"x"} }, "neither a checker nor an interactor"},
		{groups(ScoreGroup{ID: "a", Tests: []string{"a/"}, Points: 1}, ScoreGroup{ID: "b", Tests: []string{"b/1"}, Requires: []string{"a"}}), ""},
		{groups(ScoreGroup{ID: "a", Tests: []string{"c/"}}), "there is no such test"},
		{groups(ScoreGroup{ID: "a", Tests: []string{"a/", "a/1"}}), "list it in one of them"},
		{groups(ScoreGroup{ID: "a"}, ScoreGroup{ID: "a"}), "given twice"},
		{groups(ScoreGroup{}), "id"},
		{groups(ScoreGroup{ID: "a", Requires: []string{"b"}}, ScoreGroup{ID: "b"}), "does not come before it"},
		{groups(ScoreGroup{ID: "b", Tests: []string{"b/"}},
			ScoreGroup{ID: "a", Tests: []string{"a/"}, Requires: []string{"b"}}), "list it earlier"},
		{groups(ScoreGroup{ID: "a", Points: -1}), "positive number"},
		{groups(ScoreGroup{ID: "a", How: "median"}), `how "median" does not exist`},
		{groups(deep...), "the maximum is 8"},
		{groups(wide...), "the maximum is 64"},
		{func(r *Run) {
			r.Call = &Call{Fn: "f"}
			r.Tests = []Test{{ID: "1", CallArgs: json.RawMessage("[1]"), Returns: json.RawMessage("2")}}
		}, ""},
		{func(r *Run) { r.Tests[0].Asserts = Bytes("assert f()") }, "send them in separate runs"},
		{func(r *Run) { r.Tests = []Test{{ID: "1", CallArgs: json.RawMessage("[1]")}} }, "names the function"},
		{func(r *Run) { r.Call = &Call{Fn: "f"}; r.Tests = []Test{{ID: "1", CallArgs: json.RawMessage("1")}} }, "must be a JSON array"},
		{func(r *Run) { r.Tests = []Test{{ID: "1", Asserts: Bytes("x"), Stdin: Bytes("x")}} }, "has no stdin"},
		{func(r *Run) { r.Tests = []Test{{ID: "1", Returns: json.RawMessage("1")}} }, "without call_args"},
		{func(r *Run) { r.Call = &Call{Fn: "f"} }, "no test has call_args"},
	} {
		r := run(tt.change)
		switch err := r.Validate(); {
		case tt.want == "" && err != nil:
			t.Errorf("%v", err)
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%v; want %q", err, tt.want)
		}
	}
}
