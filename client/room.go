package client

import (
	"context"
	"io"
)

// A Room has a say before something large of the agent's is read, which waits with the
// agent meanwhile. Nil functions let everything come.
type Room struct {
	// Answer is asked before an answer in one piece is read, of so many bytes. decoded is called when the answer is a value. An error is what
	// the call ends with.
	Answer func(n int64) (decoded func(), err error)

	// Part is asked before so many bytes more are kept of a result that comes in pieces, or
	// of an answer whose length the agent does not say. An error ends the run and is what
	// the call ends with.
	Part func(n int64) error

	// Whole is called with a *api.Compilation, *api.TestResult or *api.Result that came in
	// pieces, before it is kept or told: it may make it smaller.
	Whole func(v any)
}

type roomKey struct{}

// WithRoom has the calls with the context ask the room.
func WithRoom(ctx context.Context, r Room) context.Context {
	return context.WithValue(ctx, roomKey{}, r)
}

func roomOf(ctx context.Context) Room {
	r, _ := ctx.Value(roomKey{}).(Room)
	return r
}

func (r Room) answer(n int64) (decoded func(), err error) {
	if r.Answer == nil || n < 0 {
		return func() {}, nil
	}
	return r.Answer(n)
}

func (r Room) part(n int64) error {
	if r.Part == nil {
		return nil
	}
	return r.Part(n)
}

func (r Room) whole(v any) {
	if r.Whole != nil {
		r.Whole(v)
	}
}

// counted is a body whose bytes have room before they are kept.
type counted struct {
	io.ReadCloser
	room Room
	full *error
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	if *c.full = c.room.part(int64(n)); *c.full != nil {
		return 0, *c.full
	}
	return n, err
}
