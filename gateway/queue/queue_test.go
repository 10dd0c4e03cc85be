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

// line lets callers wait for one turn, in the order they are named (key/project),
// and returns the order in which they get it.
func line(t *testing.T, q *Queue, most map[string]int, callers ...string) []string {
	t.Helper()
	var mu sync.Mutex
	var order []string
	first, err := q.Take(t.Context(), Who{Key: "first"})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for _, name := range callers {
		key, project, _ := strings.Cut(name, "/")
		wg.Go(func() {
			turn, err := q.Take(t.Context(), Who{Key: key, Project: project[:1], Most: most[key]})
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
		synctest.Wait() // it waits behind those before it
	}
	time.Sleep(time.Second)
	if first.Waited != 0 {
		t.Errorf("the first waited %v", first.Waited)
	}
	first.Release()
	wg.Wait()
	return order
}

func TestTurnsAreFair(t *testing.T) {
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
				got := line(t, q, nil, strings.Fields(tt.callers)...)
				if want := strings.Fields(tt.want); !slices.Equal(got, want) {
					t.Errorf("order %q; want %q", got, want)
				}
				if len(q.lanes) != 0 || q.order.Len() != 0 || q.Stats() != (Stats{Turns: 1, Most: 100}) {
					t.Errorf("left: %+v, %d lanes", q.Stats(), len(q.lanes))
				}
			})
		})
	}
}

func TestAKeyHasItsOwnBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(2, 10)
		greedy := Who{Key: "greedy", Most: 1, Waiting: 1}
		had, err := q.Take(t.Context(), greedy)
		if err != nil {
			t.Fatal(err)
		}
		second := make(chan *Turn, 1)
		go func() {
			turn, err := q.Take(t.Context(), greedy)
			if err != nil {
				t.Error(err)
			}
			second <- turn
		}()
		synctest.Wait()
		var full *Full
		if err := q.Refuses(Who{Key: "other"}); err != nil {
			t.Errorf("another key would be refused: %v", err)
		}
		if err := q.Refuses(greedy); !errors.As(err, &full) || full.Bound != "key" {
			t.Errorf("a third of a key would be taken: %v", err)
		}
		if _, err := q.Take(t.Context(), greedy); !errors.As(err, &full) || full.Bound != "key" || full.Most != 1 {
			t.Errorf("a third of a key of which one may wait: %v", err)
		}
		other, err := q.Take(t.Context(), Who{Key: "other"})
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
		if s := q.Stats(); s.Had != 0 || s.Waiting != 0 || len(q.lanes) != 0 {
			t.Errorf("left: %+v", s)
		}
	})
}

func TestAFullQueueRefuses(t *testing.T) {
	q := New(1, 0)
	turn, err := q.Take(t.Context(), Who{})
	if err != nil {
		t.Fatal(err)
	}
	var full *Full
	if _, err := q.Take(t.Context(), Who{Key: "b"}); !errors.As(err, &full) || full.Bound != "queue" || err.Error() != "every slot is taken, and none may wait for one" {
		t.Errorf("%v; want the queue's bound", err)
	}
	if len(q.lanes) != 1 {
		t.Errorf("a caller who was refused is remembered: %d lanes", len(q.lanes))
	}
	q.Resize(2)
	other, err := q.Take(t.Context(), Who{})
	if err != nil {
		t.Error(err)
	}
	other.Release()
	turn.Release()
}

// Whoever fills the queue does not keep out a key that has nobody in it, as far as there are
// places once more.
func TestAFullQueueHasAPlaceForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(1, 3)
		turn, err := q.Take(t.Context(), Who{Key: "greedy"})
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		var mu sync.Mutex
		var order []string
		for _, key := range []string{"greedy", "greedy", "greedy", "a", "b", "c"} {
			wg.Go(func() {
				turn, err := q.Take(t.Context(), Who{Key: key})
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
			if _, err := q.Take(t.Context(), Who{Key: key}); !errors.As(err, &full) || full.Bound != "queue" {
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

// Whoever leaves while he waits takes nobody's turn, also when his own comes in the
// same moment.
func TestLeavingLosesNoTurn(t *testing.T) {
	q := New(2, 1000)
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			for j := range 200 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(1+(i*j)%50)*10*time.Microsecond)
				if turn, err := q.Take(ctx, Who{Key: fmt.Sprint(i % 5), Project: fmt.Sprint(j % 3), Most: i % 3}); err == nil {
					turn.Release()
				}
				cancel()
			}
		})
	}
	wg.Wait()
	if s := q.Stats(); s.Had != 0 || s.Waiting != 0 || len(q.lanes) != 0 || q.order.Len() != 0 {
		t.Errorf("left: %+v, %d lanes", s, len(q.lanes))
	}
	if _, err := q.Take(t.Context(), Who{}); err != nil {
		t.Error(err)
	}
}

func TestTryTakeWaitsForNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(3, 1)
		who := Who{Key: "a", Most: 2}
		one, two := q.TryTake(who), q.TryTake(who)
		if one == nil || two == nil || q.Had("a") != 2 {
			t.Fatalf("%v, %v of two; %d had", one, two, q.Had("a"))
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
		one.Release() // the waiting one's
		synctest.Wait()
		two.Release()
		if last := q.TryTake(who); last == nil {
			t.Error("none is had at once where nobody waits")
		} else {
			last.Release()
		}
		time.Sleep(2 * time.Second)
		if q.Had("a") != 0 || len(q.lanes) != 0 {
			t.Errorf("left: %d had, %d lanes", q.Had("a"), len(q.lanes))
		}
	})
}

// Who goes on for long lends its turn: others have one, and it counts as its key's still.
func TestLentTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(2, 10)
		take := func(key string, most int) *Turn {
			t.Helper()
			turn := q.TryTake(Who{Key: key, Most: most})
			if turn == nil {
				t.Fatalf("no turn for %s", key)
			}
			return turn
		}
		none := func(key string, most int) {
			t.Helper()
			if q.TryTake(Who{Key: key, Most: most}) != nil {
				t.Errorf("%s has another turn", key)
			}
		}
		a, b := take("ann", 0), take("ann", 0)
		waits := make(chan *Turn)
		go func() {
			turn, err := q.Take(t.Context(), Who{Key: "bob"})
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
		none("ann", 0) // as many as there are turns are lent by her
		d := take("bob", 0)
		none("eve", 0)
		if s := q.Stats(); s.Had != 4 || q.Had("ann") != 2 {
			t.Errorf("%+v, ann has %d", s, q.Had("ann"))
		}
		b.Release()
		b.Release()
		b.Lend()
		none("ann", 0)
		c.Release()
		none("ann", 1) // the lent one is hers
		take("ann", 0).Release()
		a.Release()
		d.Lend()
		for _, turn := range []*Turn{take("ann", 0), take("eve", 0), d} {
			turn.Release()
		}
		if len(q.lanes) != 0 || q.Stats() != (Stats{Turns: 2, Most: 10}) {
			t.Errorf("left: %+v, %d lanes", q.Stats(), len(q.lanes))
		}
	})
}
