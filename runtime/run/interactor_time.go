package run

import (
	"sync"
	"time"

	groups "github.com/brig-sandbox/brig/cgroups"
)

// This file knows how long an interactor has computed. The programs that talk with it wait meanwhile, and it is on
// their processors: this time does not count for their wall limit (GRD-29). Time in which both wait does.

// An interactorTime is the processor time of an interactor, while it runs and afterwards.
type interactorTime struct {
	mu   sync.Mutex
	leaf *groups.Leaf  // guarded by mu; nil: it does not run
	used time.Duration // guarded by mu; by an interactor that does not run any more
}

// begin is called before the interactor starts.
func (t *interactorTime) begin(leaf *groups.Leaf) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.leaf = leaf
}

// end is called before the leaf is closed, perhaps more than once.
func (t *interactorTime) end() (err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.leaf != nil {
		t.used, err = t.leaf.CPUTime()
		t.leaf = nil
	}
	return err
}

func (t *interactorTime) read() (time.Duration, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.leaf != nil {
		return t.leaf.CPUTime()
	}
	return t.used, nil
}

// uncounted is the part of the time since its start that does not count for the wall limit of this one.
func (e *linkEnd) uncounted() (time.Duration, error) {
	if e == nil || e.isInteractor() {
		return 0, nil
	}
	return e.interactor.read()
}
