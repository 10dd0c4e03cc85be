package events

import (
	"bytes"
	"context"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/brig-sandbox/brig/api"
)

// newLog makes a log whose memory is always reserved.
func newLog() *Log { return NewLog(32<<10, func() bool { return true }) }

func collect(r *Reader, t *testing.T) (ids []int64, lost int64) {
	for {
		events, gone := r.Next(t.Context())
		lost += gone
		if len(events) == 0 {
			return ids, lost
		}
		for _, e := range events {
			ids = append(ids, e.ID)
		}
	}
}

func TestEveryReaderGetsEveryEventOnce(t *testing.T) {
	f := newLog()
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			time.Sleep(time.Duration(i) * 3 * time.Millisecond)
			r := f.NewReader(0)
			defer r.Close()
			ids, lost := collect(r, t)
			if len(ids) != 1000 || ids[0] != 1 || ids[999] != 1000 || lost != 0 {
				t.Errorf("reader %d: %d events, %d lost", i, len(ids), lost)
			}
		})
	}

	for i := range 1000 {
		f.Put(t.Context(), "n", i)
	}

	f.End()
	wg.Wait()
	r := f.NewReader(990)
	if ids, _ := collect(r, t); len(ids) != 10 || ids[0] != 991 {
		t.Errorf("a reader that comes back after event 990 gets %v", ids)
	}
	if ids, _ := collect(f.NewReader(5000), t); len(ids) != 0 {
		t.Errorf("a reader that claims events to come gets %v", ids)
	}
}

// A run waits for a slow reader, but not forever for one that has left.
func TestASlowReaderHoldsTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newLog()
		slow := f.NewReader(0)
		block := strings.Repeat("x", MaxSize/4)
		written := 0
		var wg sync.WaitGroup
		wg.Go(func() {
			for range 20 {
				f.Put(t.Context(), "stdout", block)
				written++
			}
			f.End()
		})

		synctest.Wait()
		if written > 4 {
			t.Errorf("%d blocks are put before a reader takes one", written)
		}

		ids, lost := collect(slow, t)
		if len(ids) != 20 || lost != 0 {
			t.Errorf("%d events, %d lost", len(ids), lost)
		}

		wg.Wait()
		slow.Close()
	})
}

func TestWithoutReadersTheOldestEventsAreDropped(t *testing.T) {
	f := newLog()
	block := strings.Repeat("x", MaxSize/4)
	for range 20 {
		f.Put(t.Context(), "stdout", block)
	}

	f.End()
	if f.size > MaxSize {
		t.Errorf("%d bytes are kept", f.size)
	}

	ids, lost := collect(f.NewReader(0), t)
	if len(ids) == 0 || ids[len(ids)-1] != 20 || int(lost)+len(ids) != 20 {
		t.Errorf("events %v, %d lost", ids, lost)
	}
}

func TestACanceledRunWaitsForNoReader(t *testing.T) {
	f := newLog()
	f.NewReader(0)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 20 {
		f.Put(ctx, "stdout", strings.Repeat("x", MaxSize/4))
	}
}

// OUT-14: a code point that is split between the program's writes arrives whole.
func TestCharactersAreNotSplit(t *testing.T) {
	text := strings.Repeat("añ漢🂡", 100)
	binary := []byte("\xf0\x9f a\xff\xfe\x80 \xe6\xbc")
	for name, whole := range map[string][]byte{"text": []byte(text), "binary": binary} {
		for range 100 {
			var got []api.Bytes
			r := Splitter{Put: func(b api.Bytes) { got = append(got, b) }}
			for rest := whole; len(rest) > 0; {
				n := min(1+rand.IntN(5), len(rest))
				if m, err := r.Write(rest[:n]); m != n || err != nil {
					t.Fatal(m, err)
				}
				rest = rest[n:]
			}

			r.Flush()
			if all := bytes.Join(bytesOf(got), nil); !bytes.Equal(all, whole) {
				t.Fatalf("%s: %q became %q", name, whole, all)
			}

			for _, piece := range got {
				if name == "text" && !utf8.Valid(piece) {
					t.Fatalf("piece %q", piece)
				}
			}
		}
	}
}

func bytesOf(all []api.Bytes) (out [][]byte) {
	for _, b := range all {
		out = append(out, b)
	}
	return out
}
