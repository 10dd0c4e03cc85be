package batches

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"time"
)

const (
	markLines = 1024     // between two places in the results that are remembered
	chunk     = 32 << 10 // that is read at once
	heartbeat = 15 * time.Second
)

// A Reading says which lines of results a client wants.
type Reading struct {
	After  int64 // lines that it has
	Limit  int64 // most lines; zero: any
	Follow bool  // wait for more until the batch has ended
}

// A Reader is a client that gets lines of results.
type Reader interface {
	io.Writer
	Flush() error // the client is to get what was written
	Beat() error  // there was nothing to write for some time
}

// Results writes lines of results as they come. It returns whether the client has all lines that there will be.
func (b *Batch) Results(ctx context.Context, r Reading, w Reader) (all bool, err error) {
	f, err := b.openResults(ctx, r.Follow, w)
	if f == nil || err != nil {
		return err == nil, err
	}
	defer f.Close() //nolint:errcheck // it was only read

	line, at := b.mark(r.After)
	sent, left := at, r.Limit
	buf := make([]byte, chunk)
	for {
		b.mu.Lock()
		there, ended, changed := b.results, !b.ended.IsZero() || b.gone, b.changed
		b.mu.Unlock()

		for line < there && (r.Limit == 0 || left > 0) {
			n, err := f.ReadAt(buf, at)
			if n == 0 {
				return false, errors.Join(errors.New("the results of the batch are shorter than they were"), err)
			}

			rest, from := buf[:n], -1 // where what is wanted begins
			used := 0
			for used < n && line < there && (r.Limit == 0 || left > 0) {
				if line >= r.After && from < 0 {
					from = used
				}

				i := bytes.IndexByte(rest[used:], '\n')
				if i < 0 {
					used = n
					break
				}

				used += i + 1
				if line++; line%markLines == 0 {
					b.addMark(line, at+int64(used))
				}
				if line > r.After && r.Limit > 0 {
					left--
				}
			}

			if from >= 0 {
				if _, err := w.Write(buf[from:used]); err != nil {
					return false, err
				}
			}

			at += int64(used)
		}

		switch {
		case r.Limit > 0 && left == 0:
			return ended && line == there, nil
		case !r.Follow, ended:
			return ended, nil
		}

		if at > sent {
			if err := w.Flush(); err != nil {
				return false, err
			}
			sent = at
		}
		if err := wait(ctx, changed, w); err != nil {
			return false, err
		}
	}
}

// wait waits for a change, with signs of life for w meanwhile.
func wait(ctx context.Context, changed <-chan struct{}, w Reader) error {
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()

	for {
		select {
		case <-changed:
			return nil
		case <-beat.C:
			if err := w.Beat(); err != nil {
				return err
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// openResults opens the file of results; nil: there is none, and none is waited for.
func (b *Batch) openResults(ctx context.Context, follow bool, w Reader) (*os.File, error) {
	for {
		b.mu.Lock()
		changed, gone := b.changed, b.gone
		b.mu.Unlock()
		f, err := os.Open(b.file(resultsName))
		if !errors.Is(err, fs.ErrNotExist) {
			return f, err
		}
		if gone || !follow {
			return nil, nil
		}
		if err := wait(ctx, changed, w); err != nil {
			return nil, err
		}
	}
}

// mark returns the last place that is remembered at or before a line.
func (b *Batch) mark(line int64) (from, at int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	i := min(line/markLines, int64(len(b.marks)))
	if i == 0 {
		return 0, 0
	}
	return i * markLines, b.marks[i-1]
}

// addMark remembers where a line begins.
func (b *Batch) addMark(line, at int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if int64(len(b.marks)) == line/markLines-1 {
		b.marks = append(b.marks, at)
	}
}

// Changed returns a channel that is closed at the next change of the batch's state.
func (b *Batch) Changed() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.changed
}
