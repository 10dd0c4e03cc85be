package gateway

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// answers bound the large answers that their clients have not taken yet: each is in memory
// until then, and who asks for many and reads none must not fill that (API-15).
type answers struct {
	most int64 // bytes, of all keys; one of them has half of it at most

	mu    sync.Mutex
	total int64            // guarded by mu
	of    map[string]int64 // guarded by mu; by key
}

const bigAnswer = 1 << 20 // a smaller one needs no room: the connections are bounded

// answerWait is how long an answer waits for room: who reads his makes some at once.
const answerWait = 2 * time.Second

// await is take for who may wait a little.
func (a *answers) await(ctx context.Context, key string, n int64) (release func(), ok bool) {
	end := time.After(answerWait)
	for {
		if release, ok = a.take(key, n); ok {
			return release, true
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-end:
			return nil, false
		case <-ctx.Done():
			return nil, false
		}
	}
}

// take has room for an answer of that weight, in bytes, until release is called. What a
// key's share is too small for may have all of it.
func (a *answers) take(key string, n int64) (release func(), ok bool) {
	if n <= bigAnswer {
		return func() {}, true
	}
	n = min(n, a.most/2)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.of[key]+n > a.most/2 || a.total+n > a.most {
		return nil, false
	}
	if a.of == nil {
		a.of = map[string]int64{}
	}
	a.total += n
	a.of[key] += n
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.total -= n
		if a.of[key] -= n; a.of[key] == 0 {
			delete(a.of, key)
		}
	}, true
}

// weightOf is what an answer takes while it is encoded and written: what programs may make
// large, twice.
func weightOf(v any) int64 {
	n := 0
	switch v := v.(type) {
	case api.Result:
		n = v.Content()
	case api.Status:
		if v.Result != nil {
			n = v.Result.Content()
		}
	case api.Executed:
		n = len(v.Stdout) + len(v.Stderr)
		for _, f := range v.Files {
			n += len(f)
		}
	}
	return 2 * int64(n)
}

// untaken refuses an answer for which there is no room. A run of it is in the history.
func untaken(v any) error {
	e := api.Fail(api.CodeBusy, "large answers that clients have not read yet fill the memory that is set aside for them: read those, and ask again later; of a run the history has the first 64 KiB of each stream")
	p := problem(http.StatusTooManyRequests, e)
	switch v := v.(type) {
	case api.Result:
		p.Run, p.RetrySafe = v.Run, false
	case api.Executed:
		p.Run, p.RetrySafe = v.Run, false
	}
	return p
}
