package runtime

import (
	"errors"
	"io"
	"log/slog"
	"slices"
	"testing"
)

// What is to be freed is freed in order and beside who asks; who asks for too much does it
// itself, and what waits when the host closes is removed without being freed.
func TestFreeingIsBoundedAndEnds(t *testing.T) {
	f := freeing{log: slog.New(slog.NewTextHandler(io.Discard, nil))}
	hold, begun := make(chan struct{}), make(chan struct{})
	var done []int // the goroutine's, until Close has returned
	var freed int
	if !f.add(func(bool) error { close(begun); <-hold; return nil }) {
		t.Fatal("an idle one does not take a job")
	}
	<-begun
	for i := range mostFreeing {
		if !f.add(func(stopping bool) error {
			done = append(done, i)
			if !stopping {
				freed++
			}
			return errors.New("told in the log, and no reason to stop")
		}) {
			t.Fatalf("job %d is refused", i)
		}
	}
	if f.add(func(bool) error { return nil }) {
		t.Error("a job too many is taken")
	}
	closed := make(chan struct{})
	go func() { f.Close(); close(closed) }()
	for !f.closing() {
	}
	close(hold)
	<-closed
	if want := len(done) == mostFreeing && slices.IsSorted(done); !want || freed != 0 {
		t.Errorf("done %v, %d of them freed after Close", done, freed)
	}
	if f.add(func(bool) error { return nil }) {
		t.Error("a closed one takes a job")
	}
}

func (f *freeing) closing() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.stopped
}
