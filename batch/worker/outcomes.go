package worker

import (
	"maps"
	"sync"
)

// outcomes counts what became of jobs.
type outcomes struct {
	mu     sync.Mutex
	counts map[string]int64 // guarded by mu
}

func (o *outcomes) add(outcome string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.counts == nil {
		o.counts = map[string]int64{}
	}
	o.counts[outcome]++
}

func (o *outcomes) all() map[string]int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return maps.Clone(o.counts)
}
