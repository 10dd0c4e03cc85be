package main

import (
	"errors"
	"io"
	"syscall"
)

// stdoutWriter is stdout, and records the first write that failed: a command whose output is lost must
// not exit with 0.
type stdoutWriter struct {
	to  io.Writer
	err error
}

func (w *stdoutWriter) Write(p []byte) (int, error) {
	n, err := w.to.Write(p)
	if w.err == nil {
		w.err = err
	}
	return n, err
}

// underlying returns the file that a written writes to, and any other w itself.
func underlying(w any) any {
	if out, is := w.(*stdoutWriter); is {
		return out.to
	}
	return w
}

// exitCode returns the exit code of a command that would exit with code; lost is the error of its
// stdout.
func (c *cli) exitCode(code int, writeErr error) int {
	switch {
	case code != 0 || writeErr == nil:
		return code
	case errors.Is(writeErr, syscall.EPIPE):
		return 128 + int(syscall.SIGPIPE) // nobody reads the output, so there is nobody to report it to
	}
	c.note("output was lost: %v: send stdout elsewhere", writeErr)
	return exitBrig
}
