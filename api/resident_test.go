package api

import (
	"strings"
	"testing"
)

// What an exec that stays cannot have is refused, and nothing else.
func TestValidateResident(t *testing.T) {
	for name, tt := range map[string]struct {
		exec  Exec
		wrong string // a part of the error; empty: none
	}{
		"a resident":             {Exec{Resident: true}, ""},
		"with control":           {Exec{Resident: true, Control: true}, ""},
		"at a terminal":          {Exec{Resident: true, TTY: &TTY{}}, ""},
		"control alone":          {Exec{Control: true}, "set resident"},
		"control at a terminal":  {Exec{Resident: true, Control: true, TTY: &TTY{}}, "one stream"},
		"stdin that is complete": {Exec{Resident: true, Stdin: Bytes("x")}, "leave stdin out"},
	} {
		tt.exec.Argv = []string{"true"}
		err := tt.exec.Validate()
		if (err == nil) != (tt.wrong == "") || err != nil && !strings.Contains(err.Error(), tt.wrong) {
			t.Errorf("%s: %v; want %q", name, err, tt.wrong)
		}
	}

	for name, tt := range map[string]struct {
		exec             Exec
		stays, refusable bool
	}{
		"an exec":    {Exec{}, false, false},
		"a terminal": {Exec{TTY: &TTY{}}, true, true},
		"a resident": {Exec{Resident: true}, true, true},
	} {
		if got := tt.exec.StaysWithoutSlot(); got != tt.stays {
			t.Errorf("%s stays: %v", name, got)
		}
		if err := tt.exec.RefuseUnstreamed(); (err != nil) != tt.refusable {
			t.Errorf("%s, where nobody talks with it: %v", name, err)
		}
	}
}

// The signals that can be sent are those that are listed.
func TestValidateSignal(t *testing.T) {
	for _, s := range Signals() {
		if err := s.Validate(); err != nil {
			t.Error(err)
		}
	}
	for _, s := range []Signal{"", "INT", "sigint", "SIGSEGV", "SIGSYS", "9", "SIGINT "} {
		if err := s.Validate(); err == nil || !strings.Contains(err.Error(), "SIGINT, ") {
			t.Errorf("%q: %v; want the list", s, err)
		}
	}
}

// A frame that says what was taken is read as it was written, and refused if there is no such window.
func TestTaken(t *testing.T) {
	for _, kind := range []FrameType{FrameStdin, FrameControl} {
		for _, n := range []int{0, 1, Window} {
			if k, got, err := ReadTaken(Taken(kind, n)); k != kind || got != n || err != nil {
				t.Errorf("%d of %q: %d of %q, %v", n, kind, got, k, err)
			}
		}
	}
	for name, payload := range map[string][]byte{
		"empty": nil, "short": []byte("i123"), "long": append(Taken(FrameStdin, 1), 0), "more than the window": Taken(FrameStdin, Window+1),
		"of output": Taken(FrameStdout, 1),
	} {
		if _, n, err := ReadTaken(payload); err == nil {
			t.Errorf("%s: %d", name, n)
		}
	}
}
