package plan

import (
	"slices"
	"testing"

	"github.com/brig-sandbox/brig/api"
)

// Each place has names of its own, which the command of the exec names.
func TestPlacesOfPrograms(t *testing.T) {
	pl := allLanguages(t)
	for _, tt := range []struct {
		language, source string
		built            []string
		names, argv      []string
		movable          bool
	}{
		{"python", "", nil, []string{"main_2.py"}, []string{"python3", "main_2.py", "a"}, true},
		{"python", "-x.py", nil, []string{"-x_2.py"}, []string{"python3", "./-x_2.py", "a"}, true},
		{"bash", "d/run", nil, []string{"d/run_2"}, []string{"bash", "d/run_2", "a"}, true},
		{"c", "x.c", []string{"main"}, []string{".exec-2/main"}, []string{"./.exec-2/main", "a"}, true},
		{"kotlin", "", []string{"classes/.main"}, []string{".exec-2/classes/.main"}, nil, false},
	} {
		s, err := pl.Session(t.Context(), api.SessionRequest{Language: tt.language}, api.Caller{})
		if err != nil {
			t.Fatal(err)
		}

		p, _, err := pl.Exec(s, api.Exec{Source: api.Bytes("x"), SourceName: tt.source, Argv: []string{"a"}})
		if err != nil {
			t.Fatal(err)
		}

		for _, name := range tt.built {
			p.Built = append(p.Built, api.File{Name: name})
		}

		if got := p.NamesAt(1); !slices.Equal(got, tt.names) || p.Movable() != tt.movable {
			t.Errorf("%s %s: names %q, movable %v; want %q, %v", tt.language, tt.source, got, p.Movable(), tt.names, tt.movable)
		}
		if p.At(0) != p {
			t.Errorf("%s: place 0 changes the plan", tt.language)
		}

		moved := p.At(1)
		if tt.argv != nil && !slices.Equal(moved.Argv, tt.argv) {
			t.Errorf("%s %s: %q; want %q", tt.language, tt.source, moved.Argv, tt.argv)
		}

		placed := slices.Concat(moved.Files, moved.Built)
		if len(placed) != 1 || placed[0].Name != tt.names[0] {
			t.Errorf("%s: placed %+v; want %q", tt.language, placed, tt.names)
		}
		if slices.ContainsFunc(slices.Concat(p.Files, p.Built), func(f api.File) bool { return f.Name == tt.names[0] }) {
			t.Errorf("%s: the plan at place 0 has changed", tt.language)
		}
	}

	command, _, err := new(Planner).Exec(&Session{}, api.Exec{Argv: []string{"x"}})
	if err != nil || command.NamesAt(1) != nil {
		t.Errorf("a command has a program: %q, %v", command.NamesAt(1), err)
	}
}
