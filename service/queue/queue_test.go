package queue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// grantOrder lets callers wait for one slot, in the order they are named (key/project), and returns the
// order in which they get it.
func grantOrder(t *testing.T, q *Queue, maximum map[string]int, callers ...string) []string {
	t.Helper()
	var mu sync.Mutex
	var order []string
	first, err := q.Take(t.Context(), Owner{Key: "first"})
	if err != nil {
		t.Fatal(err)
	}

	var wg sync.WaitGroup
	for _, name := range callers {
		key, project, _ := strings.Cut(name, "/")
		wg.Go(func() {
			turn, err := q.Take(t.Context(), Owner{Key: key, Project: project[:1], MaxSlots: maximum[key]})
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			order = append(order, name)
			mu.Unlock()
			time.Sleep(time.Second)
			turn.Release()
		})

		synctest.Wait() // it waits behind the earlier ones
	}

	time.Sleep(time.Second)
	if first.Waited != 0 {
		t.Errorf("the first waited %v", first.Waited)
	}

	first.Release()
	wg.Wait()
	return order
}

func TestSlotsAreFair(t *testing.T) {
	for _, tt := range []struct {
		name          string
		callers, want string
	}{
		{"one project: first come, first served", "a/x1 a/x2 a/x3", "a/x1 a/x2 a/x3"},
		{"a key that sends many waits as long as one that sends one", "a/x1 a/x2 a/x3 b/x1 c/x1", "a/x1 b/x1 c/x1 a/x2 a/x3"},
		{"a project that sends many leaves its key's others their turn", "a/x1 a/x2 a/x3 a/y1 a/y2", "a/x1 a/y1 a/x2 a/y2 a/x3"},
		{"keys before projects", "a/x1 a/y1 a/z1 b/x1 b/x2", "a/x1 b/x1 a/y1 b/x2 a/z1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := New(1, 100)
				got := grantOrder(t, q, nil, strings.Fields(tt.callers)...)
				if want := strings.Fields(tt.want); !slices.Equal(got, want) {
					t.Errorf("order %q; want %q", got, want)
				}
				if len(q.lanes) != 0 || q.keyOrder.Len() != 0 || q.Stats() != (Stats{Slots: 1, MaxWaiting: 100}) {
					t.Errorf("left: %+v, %d lanes", q.Stats(), len(q.lanes))
				}
			})
		})
	}
}

func TestAKeyHasItsOwnBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(2, 10)
		greedy := Owner{Key: "greedy", MaxSlots: 1, MaxWaiting: 1}
		had, err := q.Take(t.Context(), greedy)
		if err != nil {
			t.Fatal(err)
		}

		second := make(chan *Slot, 1)
		go func() {
			turn, err := q.Take(t.Context(), greedy)
			if err != nil {
				t.Error(err)
			}
			second <- turn
		}()

		synctest.Wait()
		var full *Full
		if err := q.Refuses(Owner{Key: "other"}); err != nil {
			t.Errorf("another key would be refused: %v", err)
		}
		if err := q.Refuses(greedy); !errors.As(err, &full) || full.Bound != "key" {
			t.Errorf("a third of a key would be taken: %v", err)
		}
		if _, err := q.Take(t.Context(), greedy); !errors.As(err, &full) || full.Bound != "key" || full.Max != 1 {
			t.Errorf("a third of a key of which one may wait: %v", err)
		}

		other, err := q.Take(t.Context(), Owner{Key: "other"})
		if err != nil || other.Waited != 0 {
			t.Errorf("another key waits for one that is at its bound: %v", err)
		}

		other.Release()
		select {
		case <-second:
			t.Error("a key has two turns of one")
		default:
		}

		had.Release()
		had.Release() // once
		(<-second).Release()
		if s := q.Stats(); s.Held != 0 || s.Waiting != 0 || len(q.lanes) != 0 {
			t.Errorf("left: %+v", s)
		}
	})
}

func TestAFullQueueRefuses(t *testing.T) {
	q := New(1, 0)
	turn, err := q.Take(t.Context(), Owner{})
	if err != nil {
		t.Fatal(err)
	}

	var full *Full
	if _, err := q.Take(t.Context(), Owner{Key: "b"}); !errors.As(err, &full) || full.Bound != "queue" ||
		err.Error() != "every slot is busy, and no request may wait for one" {
		t.Errorf("%v; want the queue's bound", err)
	}
	if len(q.lanes) != 1 {
		t.Errorf("a refused caller is remembered: %d lanes", len(q.lanes))
	}

	q.Resize(2)
	other, err := q.Take(t.Context(), Owner{})
	if err != nil {
		t.Error(err)
	}

	other.Release()
	turn.Release()
}

// A key that fills the queue does not keep out a key that has no waiting request, for as many
// further requests as the queue has places.
func TestAFullQueueHasAPlaceForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(1, 3)
		turn, err := q.Take(t.Context(), Owner{Key: "greedy"})
		if err != nil {
			t.Fatal(err)
		}

		var wg sync.WaitGroup
		var mu sync.Mutex
		var order []string
		for _, key := range []string{"greedy", "greedy", "greedy", "a", "b", "c"} {
			wg.Go(func() {
				turn, err := q.Take(t.Context(), Owner{Key: key})
				if err != nil {
					t.Errorf("%s: %v", key, err)
					return
				}
				mu.Lock()
				order = append(order, key)
				mu.Unlock()
				turn.Release()
			})
			synctest.Wait()
		}

		var full *Full
		for _, key := range []string{"greedy", "a", "d"} {
			if _, err := q.Take(t.Context(), Owner{Key: key}); !errors.As(err, &full) || full.Bound != "queue" {
				t.Errorf("%s: %v; want the queue's bound", key, err)
			}
		}

		turn.Release()
		wg.Wait()
		if want := []string{"greedy", "a", "b", "c", "greedy", "greedy"}; !slices.Equal(order, want) {
			t.Errorf("turns came to %v; want %v", order, want)
		}
	})
}

// A caller that stops waiting takes no other caller's slot, even if it gets its own in the same
// moment.
func TestLeavingLosesNoSlot(t *testing.T) {
	q := New(2, 1000)
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			for j := range 200 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(1+(i*j)%50)*10*time.Microsecond)
				if turn, err := q.Take(ctx, Owner{Key: fmt.Sprint(i % 5), Project: fmt.Sprint(j % 3), MaxSlots: i % 3}); err == nil {
					turn.Release()
				}
				cancel()
			}
		})
	}

	wg.Wait()
	if s := q.Stats(); s.Held != 0 || s.Waiting != 0 || len(q.lanes) != 0 || q.keyOrder.Len() != 0 {
		t.Errorf("left: %+v, %d lanes", s, len(q.lanes))
	}
	if _, err := q.Take(t.Context(), Owner{}); err != nil {
		t.Error(err)
	}
}

func TestTryTakeDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(3, 1)
		who := Owner{Key: "a", MaxSlots: 2}
		one, two := q.TryTake(who), q.TryTake(who)
		if one == nil || two == nil || q.Held("a") != 2 {
			t.Fatalf("%v, %v of two; %d had", one, two, q.Held("a"))
		}
		if q.TryTake(who) != nil {
			t.Error("a key took more than it may have")
		}

		go func() {
			turn, err := q.Take(t.Context(), who)
			if err != nil {
				t.Error(err)
				return
			}
			time.Sleep(time.Second)
			turn.Release()
		}()

		synctest.Wait()
		one.Release() // for the waiting one
		synctest.Wait()
		two.Release()
		if last := q.TryTake(who); last == nil {
			t.Error("no slot is granted at once though nobody waits")
		} else {
			last.Release()
		}

		time.Sleep(2 * time.Second)
		if q.Held("a") != 0 || len(q.lanes) != 0 {
			t.Errorf("left: %d had, %d lanes", q.Held("a"), len(q.lanes))
		}
	})
}

// A long request lends its slot: others can have one, and it still counts as held by its key.
func TestLentSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(2, 10)
		take := func(key string, maximum int) *Slot {
			t.Helper()
			turn := q.TryTake(Owner{Key: key, MaxSlots: maximum})
			if turn == nil {
				t.Fatalf("no turn for %s", key)
			}
			return turn
		}

		none := func(key string, maximum int) {
			t.Helper()
			if q.TryTake(Owner{Key: key, MaxSlots: maximum}) != nil {
				t.Errorf("%s has another turn", key)
			}
		}

		a, b := take("ann", 0), take("ann", 0)
		waits := make(chan *Slot)
		go func() {
			turn, err := q.Take(t.Context(), Owner{Key: "bob"})
			if err != nil {
				t.Error(err)
			}
			waits <- turn
		}()

		synctest.Wait()
		a.Lend()
		a.Lend()
		c := <-waits
		none("bob", 0)
		none("ann", 0)
		b.Lend()
		none("ann", 0) // she has lent as many as there are slots
		d := take("bob", 0)
		none("eve", 0)
		if s := q.Stats(); s.Held != 4 || q.Held("ann") != 2 {
			t.Errorf("%+v, ann has %d", s, q.Held("ann"))
		}

		b.Release()
		b.Release()
		b.Lend()
		none("ann", 0)
		c.Release()
		none("ann", 1) // she holds the lent one
		take("ann", 0).Release()
		a.Release()
		d.Lend()
		for _, turn := range []*Slot{take("ann", 0), take("eve", 0), d} {
			turn.Release()
		}

		if len(q.lanes) != 0 || q.Stats() != (Stats{Slots: 2, MaxWaiting: 10}) {
			t.Errorf("left: %+v, %d lanes", q.Stats(), len(q.lanes))
		}
	})
}
