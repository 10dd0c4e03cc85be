package harness

import (
	"bytes"
)

// FirstWriteWriter signals when its first byte arrives.
type FirstWriteWriter struct {
	bytes.Buffer
	Came chan struct{}
	once bool
}

// Write keeps nothing.
func (n *FirstWriteWriter) Write(p []byte) (int, error) {
	if !n.once {
		n.once = true
		close(n.Came)
	}
	return n.Buffer.Write(p)
}
