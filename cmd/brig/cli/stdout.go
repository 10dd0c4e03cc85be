package cli

import (
	"errors"
	"io"
	"syscall"
)

// StdoutWriter is stdout, and records the first write that failed: a command whose output is lost must
// not exit with 0.
type StdoutWriter struct {
	To  io.Writer
	Err error
}

func (w *StdoutWriter) Write(p []byte) (int, error) {
	n, err := w.To.Write(p)
	if w.Err == nil {
		w.Err = err
	}
	return n, err
}

// Unwrap returns what it writes to.
func (w *StdoutWriter) Unwrap() io.Writer { return w.To }

// Underlying returns what a writer of a command writes to in the end, such as a file.
func Underlying(w any) any {
	for {
		outer, is := w.(interface{ Unwrap() io.Writer })
		if !is {
			return w
		}
		w = outer.Unwrap()
	}
}

// ExitCode returns the exit code of a command that would exit with code; lost is the error of its
// stdout.
func (c *CLI) ExitCode(code int, writeErr error) int {
	switch {
	case code != 0 || writeErr == nil:
		return code
	case errors.Is(writeErr, syscall.EPIPE):
		return 128 + int(syscall.SIGPIPE) // nobody reads the output, so there is nobody to report it to
	}
	c.Note("output was lost: %v: send stdout elsewhere", writeErr)
	return ExitBrig
}
