package core

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Responses that wait for quota are in memory as well: no more may wait than there is memory for.
func TestWaitingResponsesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newResponseQuota(64 << 20)
		if !a.Memory.TryAcquire("ann", 21<<20) || !a.Memory.TryAcquire("bob", 17<<20) { // in this order both are fair
			t.Fatal("there is no room")
		}

		var all sync.WaitGroup
		for range 64 {
			all.Go(func() {
				if _, ok := a.Reserve(t.Context(), "ann", 1<<20); ok {
					t.Error("there was room")
				}
			})
		}

		synctest.Wait()
		begun := time.Now()
		if _, ok := a.Reserve(t.Context(), "ann", 1<<20); ok || time.Since(begun) > 0 {
			t.Errorf("one more waited %v", time.Since(begun))
		}

		all.Wait()
		if time.Since(begun) != quotaWait || a.waiting.Total() != 0 {
			t.Errorf("the others waited %v, and %d bytes still wait", time.Since(begun), a.waiting.Total())
		}
	})
}
