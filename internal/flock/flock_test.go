package flock

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// opener returns a function that opens one file anew, as another process would.
func opener(t *testing.T) func() *os.File {
	t.Helper()
	path := filepath.Join(t.TempDir(), "lock")
	return func() *os.File {
		t.Helper()
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
}

func TestLocksExclude(t *testing.T) {
	for _, c := range []struct {
		name          string
		first, second func(*os.File) error
		held          bool
	}{
		{"try after lock", Lock, Try, true},
		{"shared after lock", Lock, TryShared, true},
		{"try after try", Try, Try, true},
		{"try after shared", TryShared, Try, true},
		{"shared after shared", TryShared, TryShared, false},
	} {
		open := opener(t)
		one, other := open(), open()
		if err := c.first(one); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if err := c.first(one); err != nil {
			t.Errorf("%s: who has the lock takes it again: %v", c.name, err)
		}
		if err := c.second(other); errors.Is(err, ErrHeld) != c.held || err != nil && !c.held {
			t.Errorf("%s: %v; want held: %v", c.name, err, c.held)
		}
		if err := one.Close(); err != nil {
			t.Fatal(err)
		}
		if err := c.second(other); err != nil {
			t.Errorf("%s: the lock was not released: %v", c.name, err)
		}
	}
}

func TestWaitEndsWithItsContext(t *testing.T) {
	open := opener(t)
	if err := Try(open()); err != nil {
		t.Fatal(err)
	}

	why := errors.New("enough")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 20*time.Millisecond, why)
	defer cancel()
	if err := Wait(ctx, open(), time.Millisecond); !errors.Is(err, why) {
		t.Errorf("a lock that another has: %v; want the cause of the context", err)
	}
	if err := Wait(ctx, opener(t)(), time.Hour); err != nil {
		t.Errorf("a free lock, after the context has ended: %v", err)
	}
}

// Those who wait get the lock when it is released, also when signals arrive meanwhile.
func TestWaitersGetTheLock(t *testing.T) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, unix.SIGUSR1)
	defer signal.Stop(signals)

	for name, wait := range map[string]func(*os.File) error{
		"Lock": Lock,
		"Wait": func(f *os.File) error { return Wait(t.Context(), f, time.Millisecond) },
	} {
		open := opener(t)
		held, waiting := open(), open()
		if err := Try(held); err != nil {
			t.Fatal(err)
		}

		got := make(chan error, 1)
		go func() { got <- wait(waiting) }()
		for range 20 {
			time.Sleep(time.Millisecond)
			if err := unix.Kill(os.Getpid(), unix.SIGUSR1); err != nil {
				t.Fatal(err)
			}
		}

		select {
		case err := <-got:
			t.Fatalf("%s returned while another had the lock: %v", name, err)
		default:
		}
		if err := held.Close(); err != nil {
			t.Fatal(err)
		}
		if err := <-got; err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestClosedFile(t *testing.T) {
	f := opener(t)()
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if Lock(f) == nil || Try(f) == nil {
		t.Error("a closed file was locked")
	}
}
