package gateway

import (
	"net/http"
	"sync"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/gateway/quota"
)

// requestLimit counts the requests of each key that are being answered, including event streams and
// requests that wait. Each occupies a connection, and a limit per address does not help behind a
// proxy, where all callers have one address (API-02).
type requestLimit struct {
	mu    sync.Mutex
	total int            // guarded by mu
	byKey map[string]int // guarded by mu; by key
}

// enter counts one more request, unless the key would then have more than its fair share of most
// connections. others says whether there are other keys.
func (a *requestLimit) enter(key string, max int, others bool) (release func(), err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if others && !quota.Fair(int64(a.byKey[key]), int64(a.total), 1, int64(max), 1) {
		return nil, problem(http.StatusTooManyRequests, api.Fail(api.CodeTooManyConns, "%d requests of this key are in progress, including event streams and waiting requests, and the rest of the %d connections is kept for other keys: close streams, wait for responses, or have the operator raise --max-conns", a.byKey[key], max))
	}
	if a.byKey == nil {
		a.byKey = map[string]int{}
	}
	a.total++
	a.byKey[key]++
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.total--
		if a.byKey[key]--; a.byKey[key] == 0 {
			delete(a.byKey, key)
		}
	}, nil
}
