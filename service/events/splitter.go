package events

import "github.com/brig-sandbox/brig/api"

// A Splitter forwards bytes in pieces that end at a character boundary: a piece that ends within a
// character would reach the client as binary data.
type Splitter struct {
	Put     func(api.Bytes) // gets each piece, which it may keep
	partial []byte
}

func (r *Splitter) Write(p []byte) (int, error) {
	n := len(p)
	if len(r.partial) > 0 {
		p = append(r.partial, p...)
		r.partial = nil
	}

	whole := len(p) - api.Bytes(p).IncompleteTail()
	if whole < len(p) {
		r.partial = append([]byte(nil), p[whole:]...)
	}
	if whole > 0 {
		r.Put(append(api.Bytes(nil), p[:whole]...)) // the caller reuses p
	}
	return n, nil
}

// Flush forwards the bytes that never became a complete character.
func (r *Splitter) Flush() {
	if len(r.partial) > 0 {
		r.Put(r.partial)
		r.partial = nil
	}
}
