package dialecttest

import (
	"encoding/json"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/dialect"
)

// A planned submission is one of submit.json.
type planned struct {
	About json.RawMessage
	Runs  []api.Run
	Times int `json:",omitempty"` // how often the first of Runs is executed, if they are all alike
}

// submit compares the submissions of a plan, and returns what is told of their states.
func (a *archive) submit(d dialect.Dialect, s dialect.Submit) dialect.Response {
	a.t.Helper()
	var all struct {
		Wait bool `json:",omitempty"`
		All  []planned
	}
	all.Wait = s.Wait
	for i, one := range s.All {
		p := planned{About: one.About, Runs: one.Runs}
		for j, run := range one.Runs {
			if err := run.Validate(); err != nil && a.find("failure.json") == nil {
				a.t.Errorf("submission %d, run %d: %v", i, j, err)
			}
		}
		if alike(one.Runs) {
			p.Runs, p.Times = one.Runs[:1], len(one.Runs)
		}
		all.All = append(all.All, p)
	}
	a.compare("submit.json", lines(a.t, all))

	var failure *api.Problem
	if a.read("failure.json", &failure); failure != nil {
		return d.Fail(failure, dialect.FailureOf(d.Name, failure))
	}

	states := a.states(len(s.All))
	for i := range states {
		if states[i].About == nil {
			states[i].About = s.All[i].About
		}
	}
	return s.Tell(states)
}

// states reads states.json, which has so many.
func (a *archive) states(n int) []dialect.State {
	a.t.Helper()
	var states []dialect.State
	if a.read("states.json", &states); len(states) != n {
		a.t.Fatalf("%d states of %d submissions", len(states), n)
	}
	return states
}

// alike reports whether runs are one run several times.
func alike(runs []api.Run) bool {
	for _, run := range runs[1:] {
		first, err := json.Marshal(runs[0])
		other, otherErr := json.Marshal(run)
		if err != nil || otherErr != nil || string(first) != string(other) {
			return false
		}
	}
	return len(runs) > 1
}
