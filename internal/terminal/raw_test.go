package terminal

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
)

type state int

const (
	ground state = iota
	afterESC
	sequence // after ESC [
	letters  // after ESC (
	inString
)

// A model of a terminal: it shows letters, and obeys as much of ECMA-48 and of what DEC and xterm added to it as can
// hide letters.
type screen struct {
	cancels bool // CAN ends a string, as most terminals have it; in some ST alone does
	state   state
	args    string

	hidden, graphic, shifted, printer, stays bool
	shown                                    strings.Builder
}

func (s *screen) Write(p []byte) (int, error) {
	for _, r := range string(p) {
		s.obey(r)
	}
	return len(p), nil
}

func (s *screen) obey(r rune) {
	switch {
	case r == 0x18 && (s.cancels || s.state != inString):
		s.state = ground
	case r == 0x1b:
		s.state, s.args = afterESC, ""
	case s.state == afterESC && r == '[':
		s.state = sequence
	case s.state == afterESC && r == '(':
		s.state = letters
	case s.state == afterESC && strings.ContainsRune("]P_^X", r), s.state == ground && (r == 0x9d || r == 0x90):
		s.state = inString
	case s.state == letters:
		s.state, s.graphic = ground, r == '0'
	case s.state == sequence && r < '@':
		s.args += string(r)
	case s.state == sequence:
		s.state = ground
		s.set(s.args + string(r))
	case s.state == inString && r != '\a':
	case s.state != ground:
		s.state = ground
	case r == 0x0e || r == 0x0f:
		s.shifted = r == 0x0e
	case r >= 0x20 && !s.hidden && !s.graphic && !s.shifted && !s.printer && !s.stays:
		s.shown.WriteRune(r)
	}
}

func (s *screen) set(sequence string) {
	switch sequence {
	case "8m", "m":
		s.hidden = sequence == "8m"
	case "5i", "4i":
		s.printer = sequence == "5i"
	case "?7l", "?7h":
		s.stays = sequence == "?7l"
	}
}

// TTY-13: whatever a program leaves at a terminal, what brig and the caller's shell write after it is shown. The
// control is the same without End.
func TestWordsAfterAProgramAreShown(t *testing.T) {
	const words = "brig: signaled: SIGKILL"
	left := map[string]string{
		"a title": "\x1b]0;", "a title in a byte": "\u009d0;", "a link": "\x1b]8;;http://a", "a DCS string": "\x1bP1$q",
		"a DCS string in a byte": "\u00901", "an APC string": "\x1b_x", "a PM string": "\x1b^x", "an SOS string": "\x1bXx",
		"ESC": "\x1b", "a control sequence": "\x1b[3", "letters of a set": "\x1b(", "a string after ESC of ST": "\x1b]0;\x1b",
		"hidden letters": "\x1b[8m", "graphic letters": "\x1b(0", "other letters": "\x1b)0\x0e", "the printer": "\x1b[5i",
		"no next line": "\x1b[?7l\x1b[999C", "all": "\x1b[8m\x1b(0\x0e\x1b[?7l\x1b[5i\x1b]0;",
	}
	for name, out := range left {
		for _, cancels := range []bool{true, false} {
			bare, ended := &screen{cancels: cancels}, &screen{cancels: cancels}
			io.WriteString(bare, out+words)
			if bare.shown.String() == words {
				t.Errorf("%s: the words are shown without End: this case shows nothing", name)
			}

			raw := &Raw{To: ended}
			io.WriteString(raw, out)
			if !raw.End() {
				t.Errorf("%s: no control sequence was seen", name)
			}
			io.WriteString(ended, words)
			if got := ended.shown.String(); !strings.HasSuffix(got, words) {
				t.Errorf("%s (CAN ends a string: %t): %q is shown; want %q", name, cancels, got, words)
			}
			if raw.End() {
				t.Errorf("%s: a second End has something to end", name)
			}
		}
	}
}

// What a program writes reaches the terminal as it is, and after plain text nothing is added.
func TestRawAddsNothingToText(t *testing.T) {
	var out bytes.Buffer
	r := &Raw{To: &out}
	const plain = "grüße 1\t2\r\n\a\b\x00\xff"
	if n, err := io.WriteString(r, plain); n != len(plain) || err != nil {
		t.Fatal(n, err)
	}
	if r.End() || out.String() != plain {
		t.Errorf("%q; want %q alone", out.String(), plain)
	}

	gone := &Raw{To: errorWriter{}}
	if _, err := io.WriteString(gone, "\x1b"); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("%v; want the error of the terminal", err)
	}
	if !gone.End() {
		t.Error("a terminal that has gone was not asked")
	}
}

type errorWriter struct{}

func (errorWriter) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }
