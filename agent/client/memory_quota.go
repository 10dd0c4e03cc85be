package client

import (
	"context"
	"io"
)

// A MemoryQuota can limit the memory for large answers: its functions are called before data is read, and
// the agent keeps the data meanwhile. A nil function allows everything.
type MemoryQuota struct {
	// Answer is called before an answer of n bytes in one piece is read. decoded is called when
	// the answer has been decoded. The call returns Answer's error.
	Answer func(n int64) (decoded func(), err error)

	// Chunk is called before n more bytes are stored of a result that comes in pieces, or of an
	// answer of unknown length. Its error ends the run, and the call returns it.
	Chunk func(n int64) error

	// Decoded is called with a decoded *api.Compilation, *api.TestResult or *api.Result of a stream,
	// before it is stored or passed on. It may make the value smaller.
	Decoded func(v any)
}

type quotaKey struct{}

// WithMemoryQuota makes calls with the context use the quota.
func WithMemoryQuota(ctx context.Context, q MemoryQuota) context.Context {
	return context.WithValue(ctx, quotaKey{}, q)
}

func quotaOf(ctx context.Context) MemoryQuota {
	q, _ := ctx.Value(quotaKey{}).(MemoryQuota)
	return q
}

func (q MemoryQuota) answer(n int64) (decoded func(), err error) {
	if q.Answer == nil || n < 0 {
		return func() {}, nil
	}
	return q.Answer(n)
}

func (q MemoryQuota) chunk(n int64) error {
	if q.Chunk == nil {
		return nil
	}
	return q.Chunk(n)
}

func (q MemoryQuota) decoded(v any) {
	if q.Decoded != nil {
		q.Decoded(v)
	}
}

// counted is a body that reserves quota for its bytes before they are stored.
type counted struct {
	io.ReadCloser
	quota    MemoryQuota
	quotaErr *error
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	if *c.quotaErr = c.quota.chunk(int64(n)); *c.quotaErr != nil {
		return 0, *c.quotaErr
	}
	return n, err
}
