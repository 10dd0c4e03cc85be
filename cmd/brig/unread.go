package main

import "io"

// unread passes on what is written until nobody reads it any more, and drops the rest: a
// run whose result goes to a file is worth its end though the reader of its output, such as
// head, has left.
type unread struct {
	to   io.Writer
	gone bool
}

func (u *unread) Write(p []byte) (int, error) {
	if !u.gone {
		_, err := u.to.Write(p)
		u.gone = err != nil
	}
	return len(p), nil
}
