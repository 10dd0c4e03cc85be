package queue

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A background request never gets a slot while another request can have it, and all of them leave slots free.
func TestBackgroundRequestsComeLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(2, 1)
		q.SetBackground(1)
		take := func(o Owner) *Slot {
			t.Helper()
			s := q.TryTake(o)
			if s == nil {
				t.Fatalf("no slot for %+v", o)
			}
			return s
		}

		first := take(Owner{Key: "batch", Background: true})
		if q.TryTake(Owner{Key: "other", Background: true}) != nil {
			t.Error("background requests hold two slots of one")
		}

		first.Lend()
		if q.TryTake(Owner{Key: "other", Background: true}) != nil {
			t.Error("a lent slot is one more for the background")
		}

		a, b := take(Owner{Key: "a"}), take(Owner{Key: "b"}) // one of them has the lent slot
		var mu sync.Mutex
		var order []string
		var all sync.WaitGroup
		wait := func(name string, o Owner) {
			all.Go(func() {
				s, err := q.Take(t.Context(), o)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				order = append(order, name)
				mu.Unlock()
				time.Sleep(time.Second)
				s.Release()
			})

			synctest.Wait()
		}

		wait("batch 1", Owner{Key: "batch", Background: true})
		wait("batch 2", Owner{Key: "batch", Background: true}) // beyond the places of the queue
		wait("other", Owner{Key: "other", Background: true})
		wait("run", Owner{Key: "a"})
		if s := q.Stats(); s.Waiting != 1 {
			t.Errorf("%d wait; want only the run counted", s.Waiting)
		}

		a.Release()
		synctest.Wait()
		first.Release()
		b.Release()
		all.Wait()
		if want := []string{"run", "batch 1", "other", "batch 2"}; !slices.Equal(order, want) {
			t.Errorf("%v got slots; want %v", order, want)
		}
		if len(q.lanes) != 0 || q.background != 0 || q.Stats() != (Stats{Slots: 2, MaxWaiting: 1}) {
			t.Errorf("left: %+v, %d lanes, %d in the background", q.Stats(), len(q.lanes), q.background)
		}
	})
}

// The batches of a key leave one of its slots to its other requests.
func TestBackgroundRequestsOfAKeyLeaveItOneSlot(t *testing.T) {
	q := New(8, 8)
	q.SetBackground(7)
	hold := func(maximum int) (n int) {
		owner := Owner{Key: "a", MaxSlots: maximum, Background: true}
		var all []*Slot
		for s := q.TryTake(owner); s != nil; s = q.TryTake(owner) {
			all = append(all, s)
		}

		owner.Background = false
		if own := q.TryTake(owner); own != nil {
			all = append(all, own)
		} else if maximum > 1 {
			t.Errorf("a key of %d slots has none for its run", maximum)
		}
		if n = len(all); q.Held("a") != n {
			t.Errorf("the key holds %d; want %d", q.Held("a"), n)
		}

		for _, s := range all {
			s.Release()
		}
		return n
	}

	for maximum, want := range map[int]int{0: 8, 1: 1, 2: 2, 5: 5} {
		if got := hold(maximum); got != want {
			t.Errorf("a key of %d slots holds %d; want %d", maximum, got, want)
		}
	}
}
