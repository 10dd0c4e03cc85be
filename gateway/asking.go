package gateway

import (
	"net/http"
	"sync"

	"github.com/brig-sandbox/brig/api"
)

// asking counts the requests of each key that are being answered, event streams and those
// that wait among them: each has a connection, which no other request gets meanwhile, and no
// bound of addresses helps where a proxy's is everybody's (API-02).
type asking struct {
	mu  sync.Mutex
	all int            // guarded by mu
	of  map[string]int // guarded by mu; by key
}

// enter counts one more, unless the key would then have more than is fair of so many
// connections. others says that there are other keys.
func (a *asking) enter(key string, most int, others bool) (leave func(), err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if others && !fair(int64(a.of[key]), int64(a.all), 1, int64(most), 1) {
		return nil, problem(http.StatusTooManyRequests, api.Fail(api.CodeConnsFull, "%d requests of this key are being answered, event streams and those that wait among them, and the rest of the %d connections is left to other keys: close streams, wait for answers, or have the operator raise --max-conns", a.of[key], most))
	}
	if a.of == nil {
		a.of = map[string]int{}
	}
	a.all++
	a.of[key]++
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.all--
		if a.of[key]--; a.of[key] == 0 {
			delete(a.of, key)
		}
	}, nil
}
