package run

import "io"

// tolerantWriter forwards what is written until a write fails because nobody reads any more, and discards
// the rest: a run whose result goes to a file should finish even if the reader of its output, such
// as head, has exited.
type tolerantWriter struct {
	to     io.Writer
	failed bool
}

// Unwrap returns what it writes to.
func (u *tolerantWriter) Unwrap() io.Writer { return u.to }

func (u *tolerantWriter) Write(p []byte) (int, error) {
	if !u.failed {
		_, err := u.to.Write(p)
		u.failed = err != nil
	}
	return len(p), nil
}
