package plan

import (
	"cmp"
	"slices"
	"testing"

	"github.com/brig-sandbox/brig/api"
)

// The agent's mode is that of everything that names none: runs, tests, checkers, interactors, and the
// stages before them. An exec runs in its session, and what compiles it does not.
func TestTheAgentsMode(t *testing.T) {
	pl := allLanguages(t)
	for _, u := range uses {
		for _, language := range []string{"every", "parsed", api.LanguageOfCalls} {
			for _, mode := range slices.Concat([]api.Mode{""}, api.RunModes()) {
				pl.Mode = mode
				run, before := u.plan(t, pl, language, asked{})
				want := cmp.Or(mode, api.Strict)
				ofRun := want
				if u.name == "an exec" {
					ofRun = api.InSession
				}

				check := func(stage string, p *Run, want api.Mode) {
					if p != nil && (p.Mode != want || p.Cell.Key.Mode != want) {
						t.Errorf("%s of %s, agent's mode %q: the %s has mode %q and a cell of mode %q; want %q", u.name, language, mode, stage,
							p.Mode, p.Cell.Key.Mode, want)
					}
				}

				check("program", run, ofRun)
				check("stage before it", before, want)
			}
		}
	}
}

// A run that names a mode has that one in all stages.
func TestTheModeOfARequest(t *testing.T) {
	pl := allLanguages(t)
	for _, ofAgent := range slices.Concat([]api.Mode{""}, api.RunModes()) {
		for _, mode := range api.RunModes() {
			pl.Mode = ofAgent
			j := jobOf(t, pl, api.Run{
				Language: "every", Source: api.Bytes("x"), Mode: mode, Tests: []api.Test{{ID: "1"}},
				Check: &api.Check{Protocol: api.ProtocolExit, Program: api.Program{Language: "every", Source: api.Bytes("x")}},
			})
			for name, p := range map[string]*Run{"run": j.Run, "compile stage": j.Compile, "checker": j.Checker.Run,
				"compile stage of the checker": j.Checker.Compile} {
				if p.Mode != mode || p.Cell.Key.Mode != mode || p.Cell.Copies() != (mode == api.Exclusive) {
					t.Errorf("agent's mode %q, asked %q: the %s has %q, a cell of %q", ofAgent, mode, name, p.Mode, p.Cell.Key.Mode)
				}
			}
		}
	}
}
