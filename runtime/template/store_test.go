package template

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/runtime/linux"
)

// building returns a build of a snapshot with size bytes, and the number of its calls.
func building(t *testing.T, size int) (Build, *atomic.Int64) {
	t.Helper()
	var calls atomic.Int64
	return func(_ context.Context, m *Making) (*os.File, error) {
		calls.Add(1)
		if err := m.Reserve(api.Size(size)); err != nil {
			return nil, err
		}
		return linux.SealedMemfd("snapshot", make([]byte, size), true)
	}, &calls
}

func newStore(t *testing.T, cfg Config) *Store {
	t.Helper()
	if cfg.Wait == 0 {
		cfg.Wait = 10 * time.Second
	}
	if cfg.Life == 0 {
		cfg.Life = time.Hour
	}
	if cfg.Runs == 0 {
		cfg.Runs = 1000
	}

	s := New(cfg)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func get(t *testing.T, s *Store, key string, build Build) *Snapshot {
	t.Helper()
	n, err := s.Get(t.Context(), key, build)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// However many ask at once, a snapshot is made once; each user has a file offset of its own.
func TestManyUsersShareOneSnapshot(t *testing.T) {
	s := newStore(t, Config{Max: api.MiB})
	build, calls := building(t, 100)
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			n, err := s.Get(t.Context(), "k", build)
			if err != nil {
				t.Error(err)
				return
			}
			defer n.Release()

			f, err := n.Open()
			if err != nil {
				t.Error(err)
				return
			}
			defer f.Close()

			if at, err := f.Seek(int64(i), 1); err != nil || at != int64(i) {
				t.Errorf("offset %d, %v; want %d: it is shared", at, err, i)
			}
		})
	}

	wg.Wait()
	if st := s.Stats(); calls.Load() != 1 || st.Kept != 1 || st.Made != 1 || st.Size != 100 {
		t.Errorf("%d calls, %+v", calls.Load(), st)
	}
}

// A snapshot that has served its runs is made again, and the old one goes with its last user.
func TestSnapshotsAreMadeAgain(t *testing.T) {
	s := newStore(t, Config{Max: api.MiB, Runs: 2})
	build, calls := building(t, 100)
	first := get(t, s, "k", build)
	get(t, s, "k", build).Release()
	get(t, s, "k", build).Release() // begins the second
	for calls.Load() < 2 || s.Stats().Made < 2 {
		time.Sleep(time.Millisecond)
	}

	if next := get(t, s, "k", build); next == first || s.Stats().Size != 200 {
		t.Errorf("%+v", s.Stats())
	}

	first.Release()
	if st := s.Stats(); st.Size != 100 || st.Kept != 1 {
		t.Errorf("%+v", st)
	}
}

// After a long pause no run gets the old snapshot.
func TestOldSnapshotsAreNotUsed(t *testing.T) {
	s := newStore(t, Config{Max: api.MiB, Life: time.Second})
	build, _ := building(t, 100)
	first := get(t, s, "k", build)
	first.Release()
	s.mu.Lock()
	first.born -= 2 * time.Second
	s.mu.Unlock()
	if second := get(t, s, "k", build); second == first {
		t.Error("an old snapshot is used")
	}
}

// What cannot be made is not tried again at once, and Get returns the reason. Unused snapshots make room
// for others; those in use do not.
func TestFailuresAndRoom(t *testing.T) {
	s := newStore(t, Config{Max: 250})
	var calls int
	fails := func(context.Context, *Making) (*os.File, error) { calls++; return nil, errors.New("no interpreter") }
	for range 3 {
		var cold *ColdError
		if _, err := s.Get(t.Context(), "bad", fails); !errors.As(err, &cold) || cold.Why != "no template could be made: no interpreter" {
			t.Fatal(err)
		}
	}

	if st := s.Stats(); calls != 1 || st.Failed != 1 || st.Why == "" {
		t.Errorf("%d calls, %+v", calls, st)
	}

	build, _ := building(t, 100)
	a, b := get(t, s, "a", build), get(t, s, "b", build)
	if _, err := s.Get(t.Context(), "c", build); err == nil {
		t.Error("there is room for a third, of 100 bytes of 250, while two are in use")
	}

	a.Release()
	d := get(t, s, "d", build)
	if st := s.Stats(); st.Kept != 2 || st.Size != 200 {
		t.Errorf("%+v", st)
	}

	d.Release()
	b.Release()
}

// TPL-14. A caller that asks for many different snapshots, each seldom, pushes out none that is used more; one that is
// used no more makes room.
func TestSeldomSnapshotsPushOutNoneThatIsUsed(t *testing.T) {
	s := newStore(t, Config{Max: 250})
	build, calls := building(t, 100)
	for range 50 {
		get(t, s, "often", build).Release()
	}

	for round := range 10 {
		for i := range 10 {
			if n, err := s.Get(t.Context(), fmt.Sprint("seldom", i), build); err == nil {
				n.Release()
			}
		}
		if n := s.entries["often"].now; n == nil {
			t.Fatalf("round %d: it is gone", round)
		}
	}

	if n := calls.Load(); n < 10 {
		t.Errorf("%d were made: the others were to have the rest of the room", n)
	}

	s.mu.Lock()
	s.entries["often"].used -= 10 * demandHalves
	s.mu.Unlock()
	get(t, s, "later", build).Release()
	if s.entries["often"].now != nil {
		t.Error("ten minutes later it still takes room that others need")
	}
}

// The store's end ends what is being made.
func TestCloseEndsTheMaking(t *testing.T) {
	s := New(Config{Max: api.MiB, Life: time.Hour, Runs: 1, Wait: time.Hour})
	began := make(chan struct{})
	done := make(chan error, 1)
	go func() {
		_, err := s.Get(context.Background(), "k", func(ctx context.Context, _ *Making) (*os.File, error) {
			close(began)
			<-ctx.Done()
			return nil, ctx.Err()
		})
		done <- err
	}()

	<-began
	if err := s.Close(); err != nil {
		t.Error(err)
	}

	var cold *ColdError
	if err := <-done; !errors.As(err, &cold) {
		t.Errorf("%v", err)
	}
}

// TPL-08. A making that does not end costs each run at most what is left of one wait.
func TestALateMakingIsWaitedForOnce(t *testing.T) {
	s := newStore(t, Config{Max: api.MiB, Wait: time.Second})
	stuck := func(ctx context.Context, _ *Making) (*os.File, error) { <-ctx.Done(); return nil, ctx.Err() }
	begun := linux.Monotonic()
	for i := range 20 {
		var cold *ColdError
		if _, err := s.Get(t.Context(), "k", stuck); !errors.As(err, &cold) || cold.Why != "the template was not ready within 1s" {
			t.Fatal(i, err)
		}
	}

	if took := linux.Monotonic() - begun; took < time.Second || took > 10*time.Second {
		t.Errorf("20 runs, one after another, waited %v in total; want one wait", took)
	}

	left, leave := context.WithCancel(t.Context())
	leave()
	if _, err := s.Get(left, "other", stuck); !errors.Is(err, context.Canceled) {
		t.Errorf("a caller that has left: %v", err)
	}
}
