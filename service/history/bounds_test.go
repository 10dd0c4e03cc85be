package history

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
)

// A large run is stored before the arrivals are moved; they are older, and are evicted first.
func TestLargeRunAmongJournalEntriesIsNotTheOldest(t *testing.T) {
	s := fresh(t, RetentionLimits{Runs: 10})
	for i := range 20 {
		add(t, s, record(fmt.Sprint(i)))
	}
	add(t, s, record("large", func(r *api.Record) { r.Stdout = make([]byte, maxJournalRun) }))
	if _, err := s.Get(t.Context(), Scope{}, "large"); err != nil {
		t.Errorf("the newest of all: %v", err)
	}
	page, _, err := s.List(t.Context(), Filter{})
	if err != nil || len(page) != 10 {
		t.Errorf("%d runs, %v", len(page), err)
	}
}

// The bounds hold for every reader, however many runs arrive between two reads.
func TestBoundsHoldForEveryReader(t *testing.T) {
	s := fresh(t, RetentionLimits{Runs: 10})
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

// Arrivals that cannot be moved because the device is full are still read.
func TestJournalIsReadOnAFullDevice(t *testing.T) {
	s := fresh(t, RetentionLimits{})
	add(t, s, record("large", func(r *api.Record) { r.Stdout = make([]byte, maxJournalRun) }))
	limited(t, s, 30)
	n := 1
	for ; ; n++ {
		r := record(fmt.Sprint(n), func(r *api.Record) { r.Stdout = []byte(strings.Repeat(fmt.Sprint(n), 300)) })
		if err := s.Add(t.Context(), r); err != nil {
			break
		}
	}

	if err := s.commit(t.Context(), job{}); err == nil {
		t.Fatal("there was room to move on")
	}
	if r, err := s.Get(t.Context(), Scope{}, "1"); err != nil || string(r.Stdout) != strings.Repeat("1", 300) {
		t.Errorf("%d bytes of output, %v", len(r.Stdout), err)
	}

	var read []string
	for after := ""; ; {
		page, next, err := s.List(t.Context(), Filter{Limit: 3, After: after})
		if err != nil {
			t.Fatal(err)
		}
		if read, after = append(read, ids(page)...), next; next == "" {
			break
		}
	}

	slices.Sort(read)
	if len(slices.Compact(read)) != n {
		t.Errorf("%d runs of %d: %v", len(read), n, read)
	}
	if stats, err := s.Stats(t.Context(), Filter{}); err != nil || stats.Runs != int64(n) {
		t.Errorf("%d runs of %d, %v", stats.Runs, n, err)
	}
}
