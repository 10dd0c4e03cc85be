package worker

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestSlotsAreNeverTakenTwice(t *testing.T) {
	s := slots{tokens: make(chan struct{}, 3)}
	var used atomic.Int64
	var all sync.WaitGroup
	for range 30 {
		all.Go(func() {
			give, err := s.take(t.Context())
			if err != nil {
				t.Error(err)
				return
			}
			defer give()
			if now := used.Add(1); now > 3 {
				t.Errorf("%d of 3 slots are used", now)
			}
			time.Sleep(time.Millisecond)
			used.Add(-1)
		})
	}
	all.Wait()
	for range 3 {
		if _, err := s.take(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := s.take(ctx); err == nil {
		t.Error("a fourth of three was taken")
	}
}
