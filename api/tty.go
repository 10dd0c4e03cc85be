package api

import "cmp"

// A TTY is the terminal of a program: its size. Of a zero dimension a terminal has the usual one, 24 rows of 80
// columns.
type TTY struct {
	Rows int `json:"rows,omitempty" doc:"lines; zero means 24"`
	Cols int `json:"cols,omitempty" doc:"characters of a line; zero means 80"`
}

// MaxTTY is the most rows or columns of a terminal. The kernel stores them in 16 bits.
const MaxTTY = 4096

// Size is the size of the terminal, with the usual one for what is zero.
func (t TTY) Size() (rows, cols int) { return cmp.Or(t.Rows, 24), cmp.Or(t.Cols, 80) }

// Validate refuses a size that no terminal has.
func (t TTY) Validate() error {
	if t.Rows < 0 || t.Rows > MaxTTY || t.Cols < 0 || t.Cols > MaxTTY {
		return Refuse(CodeBadRequest, "tty of %d rows and %d cols: use 1 to %d of each, or leave them out", t.Rows, t.Cols, MaxTTY)
	}
	return nil
}

// RefuseUnstreamed refuses a terminal of a program that is executed without a person: nobody types at it.
func (t *TTY) RefuseUnstreamed() error {
	if t == nil {
		return nil
	}
	return Refuse(CodeBadRequest, "tty: a terminal needs somebody who types at it: use brig run -t, brig session exec -t, or "+
		"the WebSocket of a session; or leave it out")
}

// validateTTY refuses what a run with a terminal cannot have as well.
func (r Run) validateTTY() error {
	if r.TTY == nil {
		return nil
	}

	switch {
	case len(r.Stdin) > 0 || r.StdinBlob != "":
		return Refuse(CodeBadRequest, "tty: stdin is what is typed at the terminal: leave stdin and stdin_blob out")
	case len(r.Tests) > 0 || r.Suite != nil || r.CallsFunctions() || r.Interactor != nil:
		return Refuse(CodeBadRequest, "tty: a terminal is for a person: a run with tests, a suite, calls or an interactor has none")
	}
	return r.TTY.Validate()
}
