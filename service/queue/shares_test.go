package queue

import (
	"context"
	"runtime"
	"testing"
)

// A share counts what a key holds and what waits, and knows the first that waits.
func TestSharesOfKeys(t *testing.T) {
	q := New(1, 8)
	q.SetBackground(1)
	if all := q.Shares(); len(all) != 0 {
		t.Fatalf("an unused queue has %+v", all)
	}

	slot, err := q.Take(t.Context(), Owner{Key: "ann"})
	if err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	for _, owner := range []Owner{{Key: "ben", Project: "a"}, {Key: "ben", Project: "b"}, {Key: "ben", Background: true}} {
		go func() {
			_, err := q.Take(ctx, owner)
			ended <- err
		}()
	}
	for q.Stats().Waiting < 2 || len(q.Shares()) < 2 || q.Shares()[1].Background < 1 {
		runtime.Gosched()
	}

	all := q.Shares()
	if a := all[0]; a.Key != "ann" || a.Held != 1 || a.Waiting != 0 || !a.Oldest.IsZero() {
		t.Errorf("ann has %+v", a)
	}
	if b := all[1]; b.Key != "ben" || b.Held != 0 || b.Waiting != 2 || b.Background != 1 || b.Oldest.IsZero() {
		t.Errorf("ben has %+v", b)
	}

	cancel()
	for range 3 {
		if err := <-ended; err == nil {
			t.Error("a canceled request got a slot that another one holds")
		}
	}
	slot.Release()
	if all := q.Shares(); len(all) != 0 {
		t.Errorf("at the end there are %+v", all)
	}
}
