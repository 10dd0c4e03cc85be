package cli

import (
	"io"

	"github.com/brig-sandbox/brig/internal/terminal"
)

// A Screen is the two streams of brig while a program in the sandbox writes to them. What it writes goes to a terminal
// as it is. Whoever makes a Screen calls End before the first word of brig's own.
type Screen struct {
	stdout, stderr     io.Writer
	rawStdout, rawErrs *terminal.Raw // nil: that stream is no terminal
}

// Screen gives the streams of c to a program.
func (c *CLI) Screen() *Screen {
	s := &Screen{stdout: c.Stdout, stderr: c.Stderr}
	if IsTerminal(c.Stdout) {
		s.rawStdout = &terminal.Raw{To: c.Stdout}
		s.stdout = s.rawStdout
	}
	if IsTerminal(c.Stderr) {
		s.rawErrs = &terminal.Raw{To: c.Stderr}
		s.stderr = s.rawErrs
	}
	return s
}

// Stdout is where the program's stdout goes.
func (s *Screen) Stdout() io.Writer { return s.stdout }

// Stderr is where the program's stderr goes.
func (s *Screen) Stderr() io.Writer { return s.stderr }

// End makes the terminals show what follows as text, whatever the program has left. It returns a terminal that may
// still answer the program; nil if none does. It may be called again.
func (s *Screen) End() (asked io.Writer) {
	for _, r := range []*terminal.Raw{s.rawStdout, s.rawErrs} {
		if r != nil && r.End() {
			asked = r.To
		}
	}
	return asked
}
