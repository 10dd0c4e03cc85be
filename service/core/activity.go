package core

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/brig-sandbox/brig/service/auth"
)

// Activity counts what the service has done since it started. The zero value is ready.
type Activity struct {
	Judged    atomic.Int64 // runs that ended with a verdict
	NotJudged atomic.Int64 // runs that brig failed

	mu   sync.Mutex
	seen map[string]time.Time // guarded by mu; by the name of a key: its last request
}

// Saw notes a request of a key.
func (a *Activity) Saw(key string, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.seen == nil {
		a.seen = map[string]time.Time{}
	}
	a.seen[key] = now
}

// Seen returns when a key sent its last request; zero: none since the service started.
func (a *Activity) Seen(key string) time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.seen[key]
}

// Forget drops what is known of keys that are not in the list, so that it does not grow with keys that come and go.
func (a *Activity) Forget(keys []auth.Key) {
	a.mu.Lock()
	defer a.mu.Unlock()

	kept := make(map[string]time.Time, len(keys))
	for _, k := range keys {
		if t, ok := a.seen[k.Name]; ok {
			kept[k.Name] = t
		}
	}
	a.seen = kept
}
