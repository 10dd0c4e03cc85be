package worker

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestWeight(t *testing.T) {
	for _, tt := range []struct{ tests, slots, want int }{{0, 2, 1}, {1, 2, 1}, {2, 2, 2}, {15, 2, 2}, {15, 4, 4}, {3, 4, 3}, {15, 16, 8}, {100, 16, 8}, {1, 16, 1}, {5, 0, 1}} {
		if got := Weight(tt.tests, tt.slots); got != tt.want {
			t.Errorf("%d tests on %d slots: %d, want %d", tt.tests, tt.slots, got, tt.want)
		}
	}
}

func TestSlotsAreNeverTakenTwice(t *testing.T) {
	s := slots{tokens: make(chan struct{}, 3)}
	var used atomic.Int64
	var all sync.WaitGroup
	for i := range 30 {
		all.Go(func() {
			n := i%3 + 1
			give, err := s.take(t.Context(), n)
			if err != nil {
				t.Error(err)
				return
			}
			defer give()
			if now := used.Add(int64(n)); now > 3 {
				t.Errorf("%d of 3 slots are used", now)
			}
			time.Sleep(time.Millisecond)
			used.Add(-int64(n))
		})
	}
	all.Wait()
	give, err := s.take(t.Context(), 2)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := s.take(ctx, 2); err == nil {
		t.Error("two more of three were taken")
	}
	give()
	if give, err = s.take(t.Context(), 3); err != nil {
		t.Fatal(err)
	}
	give()
}
