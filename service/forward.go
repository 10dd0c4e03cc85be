package service

import (
	"errors"
	"io"
	"net/http"

	"github.com/brig-sandbox/brig/api"
)

// reserveStep is the step in which a body of unknown length reserves space.
const reserveStep = 1 << 20

// reservingReader reserves space for what it reads.
type reservingReader struct {
	*countingReader
	reserve  func(n int64) error
	reserved int64 // bytes for which space is reserved
	err      error // of claim
}

func (c *reservingReader) Read(p []byte) (int, error) {
	n, err := c.countingReader.Read(p)
	if c.n > c.reserved {
		if c.err = c.reserve(c.n + reserveStep); c.err != nil {
			return 0, c.err
		}
		c.reserved = c.n + reserveStep
	}
	return n, err
}

// countingReader records how much was read, and why reading ended.
type countingReader struct {
	io.Reader
	n        int64
	err      error
	tooLarge error  // the error for a larger body
	release  func() // must be called when nothing more is read
}

// limitedBody returns a body that is forwarded as it arrives. It is no larger than a blob may be, and
// than the quota of this caller: a larger one would evict all other blobs of the caller, and then
// itself.
func (s *core) limitedBody(w http.ResponseWriter, r *http.Request, caller api.Size) (*countingReader, error) {
	most := s.cfg.MaxBlob
	over := api.Refuse(api.CodeTooLarge,
		"the content is larger than the %s that this service accepts: have the operator raise --max-blob", most)
	if caller < most {
		most = caller
		over = api.Refuse(api.CodeTooLarge,
			"the content is larger than the %s that all blobs of this key together may have: have the operator raise blobs of the key", most)
	}
	if r.ContentLength > int64(most) {
		return nil, over
	}

	release, err := s.uploadSlot(r)
	if err != nil {
		return nil, err
	}
	return &countingReader{Reader: http.MaxBytesReader(w, r.Body, int64(most)), tooLarge: over, release: release}, nil
}

// reason returns the reason why forwarding the body failed.
func (c *countingReader) reason(err error) error {
	var over *http.MaxBytesError
	if errors.As(c.err, &over) {
		return c.tooLarge
	}
	return err
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n += int64(n)
	c.err = err
	return n, err
}
