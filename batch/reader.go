package batch

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// A reader reads an Input in a goroutine of its own, which may wait in a read after the batch has ended.
type reader struct {
	in    *Input
	lines chan Line  // closed at the end
	err   chan error // one, at the end; nil: everything was read
	ended bool       // the end of lines was received; of the receiver
}

// startReader reads the lines that belong to this reader.
func startReader(ctx context.Context, in *Input, own func(Line) bool) *reader {
	r := &reader{in: in, lines: make(chan Line), err: make(chan error, 1)}
	go func() {
		r.err <- r.read(ctx, own)
		close(r.lines)
	}()
	return r
}

func (r *reader) read(ctx context.Context, own func(Line) bool) error {
	for {
		l, err := r.in.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("read the jobs: %w", err)
		case !own(l):
			continue
		}

		select {
		case r.lines <- l:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// next is where the next line comes from, if one is wanted; nil: nowhere.
func (r *reader) next(wanted bool) <-chan Line {
	if r == nil || r.ended || !wanted {
		return nil
	}
	return r.lines
}

// end ends the reader, whose lines are closed, and returns how many jobs its input has.
func (r *reader) end() (jobs int64, err error) {
	r.ended = true
	return r.in.index, <-r.err
}

// indexes is a set of indexes of jobs, of one bit each.
type indexes []uint64

func (s indexes) has(i int64) bool {
	return i >= 0 && i/64 < int64(len(s)) && s[i/64]&(1<<(i%64)) != 0
}

func (s *indexes) add(i int64) {
	if missing := i/64 + 1 - int64(len(*s)); missing > 0 {
		*s = append(*s, make(indexes, missing)...)
	}
	(*s)[i/64] |= 1 << (i % 64)
}
