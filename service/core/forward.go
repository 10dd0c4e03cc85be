package core

import (
	"errors"
	"io"
	"net/http"

	"github.com/brig-sandbox/brig/api"
)

// reserveStep is the step in which a body of unknown length reserves space.
const reserveStep = 1 << 20

// ReservingReader reserves space for what it reads.
type ReservingReader struct {
	*CountingReader
	Reserve  func(n int64) error
	Reserved int64 // bytes for which space is reserved
	Err      error // of claim
}

func (c *ReservingReader) Read(p []byte) (int, error) {
	n, err := c.CountingReader.Read(p)
	if c.N > c.Reserved {
		if c.Err = c.Reserve(c.N + reserveStep); c.Err != nil {
			return 0, c.Err
		}
		c.Reserved = c.N + reserveStep
	}
	return n, err
}

// CountingReader records how much was read, and why reading ended.
type CountingReader struct {
	io.Reader
	N        int64
	Err      error
	tooLarge error  // the error for a larger body
	Release  func() // must be called when nothing more is read
}

// LimitedBody returns a body that is forwarded as it arrives. It is no larger than a blob may be, and
// than the quota of this caller: a larger one would evict all other blobs of the caller, and then
// itself.
func (s *Core) LimitedBody(w http.ResponseWriter, r *http.Request, caller api.Size) (*CountingReader, error) {
	maximum := s.Config.MaxBlob
	over := api.Refuse(api.CodeTooLarge,
		"the content is larger than the %s that this service accepts: have the operator raise --max-blob", maximum)
	if caller < maximum {
		maximum = caller
		over = api.Refuse(api.CodeTooLarge,
			"the content is larger than the %s that all blobs of this key together may have: have the operator raise "+
				"blobs of the key", maximum)
	}
	if r.ContentLength > int64(maximum) {
		return nil, over
	}

	release, err := s.UploadSlot(r)
	if err != nil {
		return nil, err
	}
	return &CountingReader{Reader: http.MaxBytesReader(w, r.Body, int64(maximum)), tooLarge: over, Release: release}, nil
}

// Reason returns the reason why forwarding the body failed.
func (c *CountingReader) Reason(err error) error {
	var over *http.MaxBytesError
	if errors.As(c.Err, &over) {
		return c.tooLarge
	}
	return err
}

func (c *CountingReader) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.N += int64(n)
	c.Err = err
	return n, err
}
