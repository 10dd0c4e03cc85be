package plan

import (
	"testing"

	"github.com/brig-sandbox/brig/api"
)

// A program at a terminal has TERM, and the caller's if it sets one.
func TestEnvironmentOfATerminal(t *testing.T) {
	for name, tt := range map[string]struct {
		env  map[string]string
		tty  *api.TTY
		want string
	}{
		"none":       {nil, nil, ""},
		"a terminal": {nil, &api.TTY{}, "xterm-256color"},
		"its own":    {map[string]string{"TERM": "vt100"}, &api.TTY{}, "vt100"},
		"others":     {map[string]string{"A": "b"}, &api.TTY{}, "xterm-256color"},
	} {
		got := terminalEnv(tt.env, tt.tty)
		if got["TERM"] != tt.want || got["A"] != tt.env["A"] {
			t.Errorf("%s: %v", name, got)
		}
		if _, changed := tt.env["TERM"]; changed && tt.want != "vt100" {
			t.Errorf("%s: the caller's map was changed", name)
		}
	}
}
