package api_test

import (
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
)

func TestGroupsListNothingTwice(t *testing.T) {
	first := api.ScoreGroup{ID: "a", Tests: []string{"1"}}
	for field, groups := range map[string][]api.ScoreGroup{
		"":         {first, {ID: "b", Tests: []string{"2"}, Requires: []string{"a"}}},
		"tests":    {{ID: "a", Tests: []string{"1", "1"}}},
		"groups":   {first, {ID: "b", Groups: []string{"a", "a"}}},
		"requires": {first, {ID: "b", Tests: []string{"2"}, Requires: []string{"a", "a"}}},
	} {
		r := api.Run{Language: "python", Source: api.Bytes("x"), Tests: []api.Test{{ID: "1"}, {ID: "2"}}, Groups: groups}
		switch err := r.Validate(); {
		case field == "" && err != nil:
			t.Error(err)
		case field != "" && (!api.HasCode(err, api.CodeBadRequest) || !strings.Contains(err.Error(), "twice in "+field)):
			t.Errorf("%s: %v", field, err)
		}
	}
}

// A group cannot require one that is within it: whether its tests count would depend on themselves.
func TestAGroupRequiresNothingWithinIt(t *testing.T) {
	r := api.Run{Language: "python", Source: api.Bytes("x"), Tests: []api.Test{{ID: "1"}, {ID: "2"}}, Groups: []api.ScoreGroup{
		{ID: "a", Tests: []string{"1"}}, {ID: "b", Tests: []string{"2"}, Groups: []string{"a"}, Requires: []string{"a"}},
	}}
	if err := r.Validate(); !api.HasCode(err, api.CodeBadRequest) {
		t.Error(err)
	}
}

// Programs run twice where the protocol has no word for another pass; then there are exactly two.
func TestProgramsThatRunTwice(t *testing.T) {
	program := api.Program{Language: "python", Source: api.Bytes("x")}
	check := func(p api.Protocol) *api.Check { return &api.Check{Program: program, Protocol: p} }
	talks := func(p api.Protocol, passes int) *api.Interactor {
		return &api.Interactor{Program: program, Protocol: p, Passes: passes}
	}
	for name, tt := range map[string]struct {
		r           api.Run
		twice, fits bool
	}{
		"a checker":                       {api.Run{Passes: 2, Check: check(api.ProtocolTestlib)}, true, true},
		"once":                            {api.Run{Check: check(api.ProtocolTestlib)}, false, true},
		"three times":                     {api.Run{Passes: 3, Check: check(api.ProtocolTestlib)}, false, false},
		"another protocol":                {api.Run{Passes: 2, Check: check(api.ProtocolCMS)}, false, false},
		"kattis":                          {api.Run{Passes: 2, Check: check(api.ProtocolKattis)}, false, true},
		"an interactor":                   {api.Run{Passes: 2, Interactor: talks(api.ProtocolTestlib, 0)}, true, true},
		"an interactor in one, and alone": {api.Run{Passes: 2, Interactor: talks(api.ProtocolTestlib, 1)}, true, false},
		"an interactor in one": {api.Run{Passes: 2, Interactor: talks(api.ProtocolTestlib, 1),
			Check: check(api.ProtocolTestlib)}, true, true},
		"an interactor in two of two": {api.Run{Passes: 2, Interactor: talks(api.ProtocolTestlib, 2),
			Check: check(api.ProtocolTestlib)}, true, false},
		"one in one of one":    {api.Run{Interactor: talks(api.ProtocolTestlib, 1), Check: check(api.ProtocolTestlib)}, false, false},
		"kattis in one of two": {api.Run{Passes: 2, Interactor: talks(api.ProtocolKattis, 1)}, false, false},
	} {
		tt.r.Language, tt.r.Source, tt.r.Tests = "python", api.Bytes("x"), []api.Test{{ID: "1"}}
		if err := tt.r.Validate(); tt.r.RunsTwice() != tt.twice || (err == nil) != tt.fits {
			t.Errorf("%s: runs twice %v, %v", name, tt.r.RunsTwice(), err)
		}
	}
}

// A request that lacks what its checker is told to read is refused before anything runs. Where only the checker knows
// what it needs, the tests run.
func TestTestsThatLackWhatTheCheckerNames(t *testing.T) {
	expected := api.Bytes("")
	for name, tt := range map[string]struct {
		protocol api.Protocol
		args     []string
		test     api.Test
		fits     bool
	}{
		"exit, with what it names":        {api.ProtocolExit, []string{"{answer}"}, api.Test{Expected: &expected}, true},
		"exit, in a blob":                 {api.ProtocolExit, []string{"{answer}"}, api.Test{ExpectedBlob: strings.Repeat("a", 64)}, true},
		"exit, without what it names":     {api.ProtocolExit, []string{"{output}", "{answer}"}, api.Test{}, false},
		"exit, in a part of an argument":  {api.ProtocolExit, []string{"--answer={answer}"}, api.Test{}, false},
		"exit, in arguments of the test":  {api.ProtocolExit, nil, api.Test{CheckArgs: []string{"{answer}"}}, false},
		"exit, which names output alone":  {api.ProtocolExit, []string{"{input}", "{output}"}, api.Test{}, true},
		"another protocol":                {api.ProtocolDMOJ, nil, api.Test{}, true},
		"another protocol with that word": {api.ProtocolDMOJ, []string{"{answer}"}, api.Test{}, true},
	} {
		tt.test.ID = "t1"
		program := api.Program{Language: "python", Source: api.Bytes("x")}
		r := api.Run{Language: "python", Source: api.Bytes("x"), Tests: []api.Test{{ID: "0", Expected: &expected}, tt.test},
			Check: &api.Check{Program: program, Protocol: tt.protocol, Args: tt.args}}
		err := r.Validate()
		if fits := err == nil; fits != tt.fits ||
			!fits && (!api.HasCode(err, api.CodeBadRequest) || !strings.Contains(err.Error(), `test "t1" has no expected output`)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
