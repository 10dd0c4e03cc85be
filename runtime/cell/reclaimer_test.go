package cell

import (
	"errors"
	"io"
	"log/slog"
	"slices"
	"testing"
)

// Groups are freed in order and in the background. If too many are waiting, the caller frees the
// group itself. Groups that wait when the host closes are removed without being freed.
func TestReclaimerIsBoundedAndEnds(t *testing.T) {
	f := reclaimer{log: slog.New(slog.NewTextHandler(io.Discard, nil))}
	hold, begun := make(chan struct{}), make(chan struct{})
	var done []int // only the goroutine uses it until Close has returned
	var freed int
	if !f.add(func(bool) error { close(begun); <-hold; return nil }) {
		t.Fatal("an idle one does not take a job")
	}

	<-begun
	for i := range maxReclaimJobs {
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
	if want := len(done) == maxReclaimJobs && slices.IsSorted(done); !want || freed != 0 {
		t.Errorf("done %v, %d of them freed after Close", done, freed)
	}
	if f.add(func(bool) error { return nil }) {
		t.Error("a closed one takes a job")
	}
}

func (f *reclaimer) closing() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.stopped
}
