package plan

import (
	"fmt"
	"slices"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/judge"
)

// withCalls makes of a run whose tests call functions one with an interactor: the program's sandbox runs the
// loader, which answers calls, and the interactor's sandbox makes the calls. What the tests expect is in the
// latter alone, or in the agent.
func (pl *Planner) withCalls(r api.Run) (api.Run, error) {
	lang, err := pl.language(r)
	if err != nil {
		return r, err
	}

	python, err := pl.language(api.Run{Language: api.LanguageOfCalls})
	if err != nil {
		return r, err
	}
	if !slices.Equal(lang.Run, python.Run) {
		return r, api.Refuse(api.CodeBadRequest,
			"asserts and call_args are for programs in %s, or in a language that runs a source as it does, such as "+
				"python-full: the language is %q", api.LanguageOfCalls, r.Language)
	}
	if err := checkNames("tests that call functions", r.Files, "", []string{judge.CalledSource}); err != nil {
		return r, err
	}

	for _, t := range r.Tests {
		if err := checkNames(fmt.Sprintf("test %q", t.ID), t.Files, "", []string{judge.CalledSource}); err != nil {
			return r, err
		}
	}

	r.Files = append(slices.Clone(r.Files), api.File{Name: judge.CalledSource, Content: r.Source})
	r.Source, r.SourceName = judge.CallLoader, ""

	// The asserts may import what the program may.
	r.Interactor = &api.Interactor{Program: api.Program{Language: r.Language, Image: r.Image, Source: judge.CallDriver},
		Protocol: judge.ProtocolCalls}
	tests := slices.Clone(r.Tests)
	for i := range tests {
		if tests[i].Stdin, err = judge.CallInput(r, tests[i]); err != nil {
			return r, api.Refuse(api.CodeBadRequest, "test %q: %w", tests[i].ID, err)
		}
	}

	r.Tests = tests
	return r, nil
}
