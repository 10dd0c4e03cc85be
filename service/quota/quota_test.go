package quota

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func (p *Pool) empty() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.total == 0 && len(p.byKey) == 0 && p.waiting.Len() == 0
}

func TestRules(t *testing.T) {
	for name, tt := range map[string]struct {
		rule        Rule
		own, all, n int64
		want        bool
	}{
		"all that is left":                     {UpTo(100), 0, 40, 60, true},
		"more than is left":                    {UpTo(100), 0, 40, 61, false},
		"the last of a key":                    {PerKey(8), 7, 1000, 1, true},
		"one too many of a key":                {PerKey(8), 8, 8, 1, false},
		"a half of the memory":                 {Shared(8000), 0, 0, 3500, true},
		"more than a half":                     {Shared(8000), 0, 0, 3501, false},
		"a half of the rest":                   {Shared(8000), 0, 3500, 1750, true},
		"more than that":                       {Shared(8000), 0, 3500, 1751, false},
		"a key's own part":                     {Shared(8000), 0, 7900, 31, true},
		"more than it where little is free":    {Shared(8000), 1, 7900, 31, false},
		"a key's own part, where none is free": {Shared(8000), 0, 7990, 31, false},
	} {
		if got := tt.rule(tt.own, tt.all, tt.n); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}

	for _, maximum := range []int64{256, 8000, 384 << 20} {
		if n := MaxOfOneKey(maximum); !Shared(maximum)(0, 0, n) || Shared(maximum)(0, 0, n+1) {
			t.Errorf("one key gets more or less than %d of %d", n, maximum)
		}
	}

	if !Fair(0, 100, 1, 100, 1) || Fair(0, 100, 2, 100, 1) || Fair(1, 100, 1, 100, 1) {
		t.Error("a first request of ordinary size, and no other, is granted in any case")
	}
}

// API-15: whatever keys take and return, in any order, a key that has nothing gets its own part.
func TestAKeyWithNothingGetsItsPart(t *testing.T) {
	const maximum = 256 << 10
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 2))
		p := New(Shared(maximum))
		keys := []string{"a", "b", "c", "d"}[:1+r.IntN(4)]
		var had []func()
		for range 500 {
			key, n := keys[r.IntN(len(keys))], 1+r.Int64N(maximum/4)
			if p.TryAcquire(key, n) {
				had = append(had, func() { p.Release(key, n) })
			}
			if i := len(had); i > 0 && r.IntN(4) == 0 {
				i = r.IntN(i)
				had[i]()
				had = slices.Delete(had, i, i+1)
			}
			if p.Total() > maximum {
				t.Fatalf("seed %d: %d of %d are taken", seed, p.Total(), maximum)
			}
			if !p.TryAcquire("new", maximum/keyDivisor) {
				t.Fatalf("seed %d: nothing for a new key while %v have %d of %d", seed, keys, p.Total(), maximum)
			}

			p.Release("new", maximum/keyDivisor)
		}

		for _, release := range had {
			release()
		}

		if !p.empty() {
			t.Fatalf("seed %d: %d are not given back", seed, p.Total())
		}
	}
}

// Requests of a key get their parts in the order of arrival, a large one too, and no other key
// waits for them. One that is canceled lets those behind it pass.
func TestRequestsOfAKeyAreServedInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New(PerKey(32))
		if !p.TryAcquire("ann", 28) {
			t.Fatal("there is nothing")
		}

		var mu sync.Mutex
		var order []int
		gone, leave := context.WithCancel(t.Context())
		for i, n := range []int64{20, 1, 2} {
			ctx := t.Context()
			if i == 1 {
				ctx = gone
			}

			go func() {
				err := p.Acquire(ctx, "ann", n, 0)
				if err == nil {
					mu.Lock()
					defer mu.Unlock()
					order = append(order, i)
				} else if !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			}()

			synctest.Wait()
		}

		if err := p.Acquire(t.Context(), "bob", 8, 0); err != nil {
			t.Error(err)
		}
		if p.TryAcquire("ann", 1) {
			t.Error("a small request has overtaken those that wait")
		}

		leave()
		p.Release("ann", 8) // enough for the last only
		synctest.Wait()
		if len(order) != 0 {
			t.Errorf("%v were served before the first", order)
		}

		p.Release("ann", 20)
		synctest.Wait()
		if slices.Sort(order); !slices.Equal(order, []int{0, 2}) {
			t.Errorf("%v were served", order)
		}
		if keys := p.Keys(); !slices.Equal(keys, []string{"ann", "bob"}) || p.Used("ann") != 22 || p.Total() != 30 {
			t.Errorf("%v have %d, ann %d", keys, p.Total(), p.Used("ann"))
		}

		p.Release("ann", 22)
		p.Release("bob", 8)
		if !p.empty() {
			t.Errorf("%d are not given back", p.Total())
		}
	})
}

// A large request that gives up lets a smaller one behind it pass at once.
func TestSmallRequestPassesALargeOneThatGaveUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New(UpTo(10))
		if !p.TryAcquire("ann", 5) {
			t.Fatal("there is nothing")
		}

		begun := time.Now()
		small := make(chan error, 1)
		go func() {
			if err := p.Acquire(t.Context(), "ann", 9, 2*time.Second); !errors.Is(err, ErrFull) || time.Since(begun) != 2*time.Second {
				t.Errorf("the large one after %v: %v", time.Since(begun), err)
			}
		}()

		synctest.Wait()
		go func() { small <- p.Acquire(t.Context(), "ann", 5, time.Minute) }()
		if err := <-small; err != nil || time.Since(begun) != 2*time.Second {
			t.Errorf("the small one after %v: %v", time.Since(begun), err)
		}

		p.Release("ann", 10)
		if !p.empty() {
			t.Errorf("%d are not given back", p.Total())
		}
	})
}

// However requests end, nothing stays taken.
func TestNothingIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New(Shared(1 << 20))
		var all sync.WaitGroup
		for i := range 200 {
			r := rand.New(rand.NewPCG(uint64(i), 3))
			all.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(r.IntN(50))*time.Millisecond)
				defer cancel()
				key, n := string(rune('a'+i%5)), r.Int64N(1<<19)
				if p.Acquire(ctx, key, n, time.Duration(1+r.IntN(50))*time.Millisecond) == nil {
					time.Sleep(time.Duration(r.IntN(10)) * time.Millisecond)
					p.Release(key, n)
				}
			})
		}

		all.Wait()
		if !p.empty() {
			t.Errorf("%d are not given back", p.Total())
		}
	})
}

func TestReservation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New(UpTo(100))
		r := p.Reserve("ann", 10)
		wants := func(what string, size, taken int64) {
			t.Helper()
			if r.Size() != size || p.Total() != taken {
				t.Errorf("%s: a size of %d, %d taken; want %d and %d", what, r.Size(), p.Total(), size, taken)
			}
		}

		if err := r.Grow(t.Context(), 10, time.Second); err != nil || !r.TryGrow(0) {
			t.Fatal(err)
		}

		wants("a free size", 10, 0)
		if err := r.Grow(t.Context(), 1, time.Second); err != nil {
			t.Fatal(err)
		}

		wants("more than that", 11, 11)
		if r.TryGrow(90) {
			t.Error("it grew beyond the pool")
		}
		if err := r.Grow(t.Context(), 90, time.Second); !errors.Is(err, ErrFull) {
			t.Error(err)
		}

		wants("after refusals", 11, 11)
		if !r.TryGrow(89) {
			t.Error("it did not grow to the whole pool")
		}

		r.Shrink(200)
		wants("the whole", 100, 100)
		r.Shrink(5)
		wants("a part", 5, 5)
		if !r.TryGrow(15) {
			t.Error("it did not grow again")
		}

		wants("grown again", 20, 20)
		r.Release()
		r.Release()
		wants("released", 0, 0)
		if !p.empty() {
			t.Error("something is not given back")
		}

		var none *Reservation
		none.Release()
	})
}
