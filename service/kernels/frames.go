// Package kernels is the pure part of kernels: what a driver and the service say to each other, and what the service does
// about a cell. A driver executes the code of strangers, so all that it says is the program's: the form is checked here,
// and nothing of it is evidence for anything.
package kernels

import (
	"bytes"
	"fmt"
	"strconv"
)

// The bounds of what a driver sends. kernel.py and kernel.js know MaxEvent, too.
const (
	MaxEvent   = 8 << 20 // bytes of JSON of an event
	maxHead    = 8       // bytes of the line with its length, without the newline
	firstGrant = 32 << 10
)

// Frames cuts what a driver writes to its descriptor 4 into events. Each is a line with a length in bytes, and that many
// bytes of JSON. The zero value is ready.
type Frames struct {
	// Reserve is called before more than so many bytes are kept in memory. Zero: none are kept any more. Nil: nobody counts.
	Reserve func(size int64) error

	head []byte // of the length that is being read
	body []byte
	size int // of the body; meaningful if inBody
	in   bool
	kept int64
	err  error
}

// Write calls event with each event that is complete with p. It fails for bytes that are no events, and for good: what
// follows them means nothing. The bytes of an event are valid during the call.
func (f *Frames) Write(p []byte, event func(body []byte) error) error {
	for f.err == nil && len(p) > 0 {
		if !f.in {
			p, f.err = p[1:], f.length(p[0])
			continue
		}

		n := min(f.size-len(f.body), len(p))
		if f.err = f.keep(len(f.body) + n); f.err != nil {
			break
		}
		f.body, p = append(f.body, p[:n]...), p[n:]
		f.complete(event)
	}
	return f.err
}

// length takes a byte of the line with the length.
func (f *Frames) length(b byte) error {
	switch {
	case b >= '0' && b <= '9' && len(f.head) < maxHead:
		f.head = append(f.head, b)
		return nil
	case b != '\n':
		return fmt.Errorf("byte %q where the length of an event was expected", b)
	}

	n, err := strconv.Atoi(string(f.head))
	switch {
	case err != nil:
		return fmt.Errorf("an event without a length")
	case n == 0 || n > MaxEvent:
		return fmt.Errorf("an event of %d bytes: it must have 1 to %d", n, MaxEvent)
	}
	f.head, f.size, f.in = f.head[:0], n, true
	return nil
}

// keep makes room for so many bytes of the body. The length that a program announces reserves nothing: what has arrived
// does.
func (f *Frames) keep(n int) error {
	if n <= cap(f.body) {
		return nil
	}
	room := min(max(firstGrant, 2*cap(f.body), n), max(f.size, firstGrant))
	if f.Reserve != nil {
		if err := f.Reserve(int64(room)); err != nil {
			return err
		}
	}
	f.kept = int64(room)
	f.body = append(make([]byte, 0, room), f.body...)
	return nil
}

func (f *Frames) complete(event func([]byte) error) {
	if len(f.body) < f.size {
		return
	}
	f.in = false
	f.err = event(f.body)
	f.body = f.body[:0]
	if f.kept > firstGrant { // a large one is rare
		f.body = nil
		f.kept = 0
		if f.Reserve != nil && f.err == nil {
			f.err = f.Reserve(0)
		}
	}
}

// AppendFrame appends a frame with a body to b.
func AppendFrame(b, body []byte) []byte {
	b = strconv.AppendInt(b, int64(len(body)), 10)
	b = append(b, '\n')
	return append(b, body...)
}

// validText replaces what is no UTF-8, and makes a text no longer.
func validText(body []byte) []byte { return bytes.ToValidUTF8(body, []byte("?")) }
