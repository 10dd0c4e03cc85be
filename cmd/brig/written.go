package main

import (
	"errors"
	"io"
	"syscall"
)

// written is stdout, and remembers the first write that failed: what brig says there is not
// said where it is lost.
type written struct {
	to  io.Writer
	err error
}

func (w *written) Write(p []byte) (int, error) {
	n, err := w.to.Write(p)
	if w.err == nil {
		w.err = err
	}
	return n, err
}

// below is the file under a stdout.
func below(w any) any {
	if out, is := w.(*written); is {
		return out.to
	}
	return w
}

// said is the exit code of a command that would end with code.
func (c *console) said(code int, lost error) int {
	switch {
	case code != 0 || lost == nil:
		return code
	case errors.Is(lost, syscall.EPIPE):
		return 128 + int(syscall.SIGPIPE) // nobody reads us, so nobody is told
	}
	c.note("output was lost: %v: send stdout elsewhere", lost)
	return exitBrig
}
