package history

import (
	"fmt"
	"testing"
)

// A large run goes past the arrivals; they are older, and go first.
func TestLargeRunAmongArrivalsIsNotTheOldest(t *testing.T) {
	s := fresh(t, Keep{Runs: 10})
	for i := range 20 {
		add(t, s, record(fmt.Sprint(i)))
	}
	add(t, s, record("large", func(r *Record) { r.Stdout = make([]byte, smallRun) }))
	if _, err := s.Get(t.Context(), Whose{}, "large"); err != nil {
		t.Errorf("the newest of all: %v", err)
	}
	page, _, err := s.List(t.Context(), Filter{})
	if err != nil || len(page) != 10 {
		t.Errorf("%d runs, %v", len(page), err)
	}
}

// However many arrive between two readings, a reader finds the bounds kept.
func TestBoundsHoldWheneverSomebodyReads(t *testing.T) {
	s := fresh(t, Keep{Runs: 10})
	jobs := make(chan error, 200)
	for i := range 200 {
		go func() { jobs <- s.Add(t.Context(), record(fmt.Sprint(i))) }()
	}
	for range 200 {
		if err := <-jobs; err != nil {
			t.Fatal(err)
		}
	}
	stats, err := s.Stats(t.Context(), Filter{})
	if err != nil || stats.Runs != 10 {
		t.Errorf("%d runs, %v", stats.Runs, err)
	}
}
