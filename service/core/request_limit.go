package core

import (
	"net/http"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/auth"
	"github.com/brig-sandbox/brig/service/quota"
)

// newRequestQuota counts the requests of each key that are being answered, including event streams
// and requests that wait. Each occupies a connection, and a limit per address does not help behind a
// proxy, where all callers have one address (API-02). If there are other keys, none gets more than
// its fair share of the connections.
func newRequestQuota(conns int, keys *auth.Keys) *quota.Pool {
	return quota.New(func(own, all, n int64) bool {
		return !keys.Multiple() || quota.Fair(own, all, n, int64(conns), 1)
	})
}

// EnterRequest counts one more request of a key.
func (s *Core) EnterRequest(key string) (release func(), err error) {
	if !s.Requests.TryAcquire(key, 1) {
		return nil, Problem(http.StatusTooManyRequests,
			api.Fail(api.CodeTooManyConns,
				"%d requests of this key are in progress, including event streams and waiting requests, and the rest "+
					"of the %d connections is kept for other keys: close streams, wait for responses, or have the "+
					"operator raise --max-conns", s.Requests.Used(key), s.Config.MaxConns))
	}
	return func() { s.Requests.Release(key, 1) }, nil
}
