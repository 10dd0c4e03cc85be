package client

import (
	"io"
	"net/http/httputil"
	"strconv"
)

func appendInt(b []byte, n int) []byte { return strconv.AppendInt(b, int64(n), 10) }

// sendChunks sends a body of unknown length.
func sendChunks(w io.Writer, head []byte, body io.Reader) error {
	if _, err := w.Write(head); err != nil {
		return err
	}
	chunks := httputil.NewChunkedWriter(w)
	if _, err := io.CopyBuffer(struct{ io.Writer }{chunks}, body, make([]byte, 256<<10)); err != nil {
		return err
	}
	if err := chunks.Close(); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\r\n")
	return err
}
