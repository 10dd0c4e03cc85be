package gateway

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/brig-sandbox/brig/api"
)

func collect(r *reader, t *testing.T) (ids []int64, lost int64) {
	for {
		events, gone := r.next(t.Context())
		lost += gone
		if len(events) == 0 {
			return ids, lost
		}
		for _, e := range events {
			ids = append(ids, e.id)
		}
	}
}

func TestEveryReaderGetsEveryEventOnce(t *testing.T) {
	f := newEventLog(func() bool { return true })
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			time.Sleep(time.Duration(i) * 3 * time.Millisecond)
			r := f.newReader(0)
			defer r.close()
			ids, lost := collect(r, t)
			if len(ids) != 1000 || ids[0] != 1 || ids[999] != 1000 || lost != 0 {
				t.Errorf("reader %d: %d events, %d lost", i, len(ids), lost)
			}
		})
	}
	for i := range 1000 {
		f.put(t.Context(), "n", i)
	}
	f.end()
	wg.Wait()
	r := f.newReader(990)
	if ids, _ := collect(r, t); len(ids) != 10 || ids[0] != 991 {
		t.Errorf("a reader that comes back after event 990 gets %v", ids)
	}
	if ids, _ := collect(f.newReader(5000), t); len(ids) != 0 {
		t.Errorf("a reader that claims events to come gets %v", ids)
	}
}

// A run waits for a slow reader, but not forever for one that has left.
func TestASlowReaderHoldsTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newEventLog(func() bool { return true })
		slow := f.newReader(0)
		block := strings.Repeat("x", eventLogMax/4)
		written := 0
		var wg sync.WaitGroup
		wg.Go(func() {
			for range 20 {
				f.put(t.Context(), "stdout", block)
				written++
			}
			f.end()
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
		slow.close()
	})
}

func TestWithoutReadersTheOldestEventsAreDropped(t *testing.T) {
	f := newEventLog(func() bool { return true })
	block := strings.Repeat("x", eventLogMax/4)
	for range 20 {
		f.put(t.Context(), "stdout", block)
	}
	f.end()
	if f.size > eventLogMax {
		t.Errorf("%d bytes are kept", f.size)
	}
	ids, lost := collect(f.newReader(0), t)
	if len(ids) == 0 || ids[len(ids)-1] != 20 || int(lost)+len(ids) != 20 {
		t.Errorf("events %v, %d lost", ids, lost)
	}
}

func TestACanceledRunWaitsForNoReader(t *testing.T) {
	f := newEventLog(func() bool { return true })
	f.newReader(0)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 20 {
		f.put(ctx, "stdout", strings.Repeat("x", eventLogMax/4))
	}
}

// OUT-14: a code point that is split between the program's writes arrives whole.
func TestCharactersAreNotSplit(t *testing.T) {
	text := strings.Repeat("añ漢🂡", 100)
	binary := []byte("\xf0\x9f a\xff\xfe\x80 \xe6\xbc")
	for name, whole := range map[string][]byte{"text": []byte(text), "binary": binary} {
		for range 100 {
			var got []api.Bytes
			r := utf8Splitter{put: func(b api.Bytes) { got = append(got, b) }}
			for rest := whole; len(rest) > 0; {
				n := min(1+rand.IntN(5), len(rest))
				if m, err := r.Write(rest[:n]); m != n || err != nil {
					t.Fatal(m, err)
				}
				rest = rest[n:]
			}
			r.flush()
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

func TestRegistryForgetsTheOldest(t *testing.T) {
	r := newActiveRuns()
	for i := range maxDoneRuns + 10 {
		a := &activeRun{id: fmt.Sprint(i), owner: "o", log: newEventLog(func() bool { return true })}
		if !r.add(a) {
			t.Fatal("refused")
		}
		a.log.put(t.Context(), "result", i)
		r.finished(a)
	}
	if r.get("o", "9") != nil || r.get("o", "10") == nil || r.get("other", "10") != nil || r.done.Len() != maxDoneRuns {
		t.Errorf("%d are kept", r.done.Len())
	}
	big := &activeRun{id: "big", log: newEventLog(func() bool { return true })}
	r.add(big)
	for range 40 {
		a := &activeRun{id: runID(), log: newEventLog(func() bool { return true })}
		r.add(a)
		a.log.put(t.Context(), "stdout", strings.Repeat("x", eventLogMax-10))
		r.finished(a)
	}
	if r.size > maxDoneBytes {
		t.Errorf("%d bytes are kept", r.size)
	}
	if r.all["big"] != big {
		t.Error("one that is not done is forgotten")
	}
	for range maxActiveRuns - 1 {
		r.add(&activeRun{id: runID(), log: newEventLog(func() bool { return true })})
	}
	if r.add(&activeRun{id: "more"}) {
		t.Error("there is no bound on runs under way")
	}
}

// A client that reads events already has the program's output; a compiler's output is in the
// result.
func TestACompilersOutputStaysInTheResult(t *testing.T) {
	for stage, want := range map[api.Stage]string{api.StageRun: "heard", api.StageCompile: "main.c:1: error"} {
		out, errs := newTeeStream(func(api.Bytes) {}), newTeeStream(func(api.Bytes) {})
		if stage == api.StageRun {
			if _, err := errs.Write([]byte("heard")); err != nil {
				t.Fatal(err)
			}
		}
		res := api.Result{Stage: stage, Stderr: api.Bytes("main.c:1: error")}
		finishStreams(&res, out, errs)
		if string(res.Stderr) != want {
			t.Errorf("stage %s: %q; want %q", stage, res.Stderr, want)
		}
	}
}
