package client

import (
	"errors"
	"io"
	"net/http/httputil"
	"strconv"
)

func appendInt(b []byte, n int) []byte { return strconv.AppendInt(b, int64(n), 10) }

// A sourceError is an error from reading the data to send, not from sending it.
type sourceError struct{ err error }

func (e *sourceError) Error() string { return "read the data to send: " + e.err.Error() }
func (e *sourceError) Unwrap() error { return e.err }

type source struct{ io.Reader }

func (s source) Read(b []byte) (int, error) {
	n, err := s.Reader.Read(b)
	if err != nil && err != io.EOF {
		err = &sourceError{err}
	}
	return n, err
}

// sendChunks sends a body of unknown length. If reading the source fails, it closes the connection:
// the agent must not take a part for the whole, nor wait for the rest.
func sendChunks(w io.WriteCloser, head []byte, body io.Reader) error {
	if _, err := w.Write(head); err != nil {
		return err
	}

	chunks := httputil.NewChunkedWriter(w)
	if _, err := io.CopyBuffer(struct{ io.Writer }{chunks}, source{body}, make([]byte, 256<<10)); err != nil {
		var own *sourceError
		if errors.As(err, &own) {
			w.Close()
		}
		return err
	}
	if err := chunks.Close(); err != nil {
		return err
	}

	_, err := io.WriteString(w, "\r\n")
	return err
}
