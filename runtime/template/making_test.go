package template

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/runtime/linux"
)

// TPL-09. However many keys are asked for at once, what is being made and what is kept have no more
// memory than the store may have, and one snapshot is made at a time.
func TestMakingsAreBounded(t *testing.T) {
	const maximum, each = 500, 240
	s := newStore(t, Config{Max: maximum})
	var active, made atomic.Int64
	build := func(_ context.Context, m *Making) (*os.File, error) {
		if n := active.Add(1); n > 1 {
			t.Errorf("%d are being made at once", n)
		}
		defer active.Add(-1)

		if err := m.Reserve(each); err != nil {
			return nil, err
		}
		if size := s.Stats().Size; size < each || size > maximum {
			t.Errorf("%d bytes while one of %d is made; the maximum is %d", size, each, maximum)
		}
		if made.Add(1)%2 == 0 {
			return nil, errors.New("its trial failed")
		}
		return linux.SealedMemfd("snapshot", make([]byte, each), true)
	}

	var wg sync.WaitGroup
	for i := range 10 {
		wg.Go(func() {
			if n, err := s.Get(t.Context(), string(rune('a'+i)), build); err == nil {
				n.Release()
			}
		})
	}

	wg.Wait()
	st := s.Stats()
	if made.Load() > 10 || st.Made < 2 || st.Made+st.Failed != 10 || st.Kept > 2 || st.Size != api.Size(st.Kept*each) {
		t.Errorf("%d calls, %+v", made.Load(), st)
	}
}

// TPL-09. What nobody waits for any more is not made, and what waits for its turn for too long is not
// waited for.
func TestMakingsWaitForTheirTurn(t *testing.T) {
	s := newStore(t, Config{Max: api.MiB, Wait: 3 * time.Second})
	began, end := make(chan struct{}), make(chan struct{})
	go func() {
		_, _ = s.Get(context.Background(), "slow", func(context.Context, *Making) (*os.File, error) {
			close(began)
			<-end
			return nil, errors.New("too slow")
		})
	}()

	<-began
	build, calls := building(t, 100)
	left, leave := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer leave()

	if _, err := s.Get(left, "left", build); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a caller that has left: %v", err)
	}

	var cold *ColdError
	if _, err := s.Get(t.Context(), "late", build); !errors.As(err, &cold) {
		t.Errorf("without a turn: %v", err)
	}

	close(end)
	if err := s.Close(); err != nil || calls.Load() != 0 {
		t.Errorf("%v; %d snapshots were made in vain", err, calls.Load())
	}
}

// A key whose makings fail by their own fault is tried ever more rarely; one for which a slot or memory
// was lacking is tried each minute.
func TestFailuresArePaced(t *testing.T) {
	var e entry
	for i, want := range []time.Duration{1, 2, 4, 8, 16, 32, 32} {
		e.fail("no interpreter", true)
		if in := e.retryAt - linux.Monotonic(); in > want*time.Minute || in < want*time.Minute-time.Second {
			t.Errorf("after %d failures the next is in %v; want %d minutes", i+1, in, want)
		}
		e.fail("no memory", false)
		if in := e.retryAt - linux.Monotonic(); in > time.Minute {
			t.Errorf("without memory the next is in %v", in)
		}
	}
}

// Ready waits for nothing: the snapshot is made in the background, though no run waits for it, and beside one for which runs do.
func TestReadyWaitsForNothing(t *testing.T) {
	s := newStore(t, Config{Max: api.MiB, Wait: time.Minute, Life: time.Hour, Runs: 10})
	began, end := make(chan struct{}), make(chan struct{})
	go func() {
		_, _ = s.Get(context.Background(), "awaited", func(context.Context, *Making) (*os.File, error) {
			close(began)
			<-end
			return nil, errors.New("too slow")
		})
	}()
	<-began
	defer close(end)

	build, calls := building(t, 100)
	var cold *ColdError
	if _, err := s.Ready("k", build); !errors.As(err, &cold) || cold.Why != notReady {
		t.Fatalf("the first: %v", err)
	}
	for calls.Load() == 0 || s.Stats().Kept == 0 {
		time.Sleep(time.Millisecond)
	}

	n, err := s.Ready("k", build)
	if err != nil || calls.Load() != 1 {
		t.Fatalf("%v after %d calls", err, calls.Load())
	}
	n.Release()

	fails := func(context.Context, *Making) (*os.File, error) { return nil, errors.New("no compiler") }
	for err = error(&ColdError{notReady}); err.Error() == notReady; {
		_, err = s.Ready("fails", fails)
	}
	if !strings.Contains(err.Error(), "no compiler") {
		t.Errorf("one that fails: %v", err)
	}
}

// TPL-15. A making for which no run waits is stopped for a caller; a run that comes to wait for it then has it made
// again, at once, and no caller stops that.
func TestAMakingYieldsUnlessARunWaits(t *testing.T) {
	s := newStore(t, Config{Max: api.MiB, Wait: time.Minute, Life: time.Hour, Runs: 10})
	makings := make(chan *Making, 2)
	blocked, _ := building(t, 1)
	build := func(ctx context.Context, m *Making) (*os.File, error) {
		makings <- m
		if m.Yield() != nil {
			<-ctx.Done()
		}
		return blocked(context.Background(), m) // what was stopped is not used, whatever it is
	}

	var cold *ColdError
	if _, err := s.Ready("a", build); !errors.As(err, &cold) || cold.Why != notReady {
		t.Fatalf("no template yet: %v", err)
	}
	first := <-makings
	first.Yield()()
	<-first.ended
	if st := s.Stats(); st.Kept != 0 || st.Failed != 0 || st.Size != 0 || st.Why != notIdle {
		t.Errorf("after it was stopped: %+v", st)
	}
	if _, err := s.Ready("a", build); !errors.As(err, &cold) || cold.Why != notIdle {
		t.Errorf("directly after that: %v", err)
	}

	n, err := s.Get(t.Context(), "a", build)
	if err != nil {
		t.Fatal(err)
	}
	n.Release()
	if second := <-makings; second.Yield() != nil {
		t.Error("a making for which a run waits can be stopped for others")
	}
}
