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
	most int64 // bytes, of all keys

	mu      sync.Mutex
	total   int64            // guarded by mu
	waiting int64            // guarded by mu; of answers that wait for room, and are in memory too
	of      map[string]int64 // guarded by mu; by key
	shared  map[any]*share   // guarded by mu; by what it is that is sent
}

// A share is what several answers point to: it is in memory once.
type share struct {
	n    int64
	sent int // answers that it is being sent in
}

func newAnswers(most int64) *answers {
	return &answers{most: most, of: map[string]int64{}, shared: map[any]*share{}}
}

const bigAnswer = 32 << 10 // a smaller one needs no room: the connections are bounded

// answersWaiting is the part of the room that as much may wait for besides.
const answersWaiting = 8

// answerWait is how long an answer waits for room: who reads his makes some at once.
const answerWait = 2 * time.Second

// await is take for who may wait a little, unless as much waits as there may be.
func (a *answers) await(ctx context.Context, key string, n int64, what any) (release func(), ok bool) {
	ok = a.patiently(ctx, n, func() bool {
		release, ok = a.take(key, n, what)
		return ok
	})
	return release, ok
}

// patiently tries until it works, as long as so many bytes in memory may wait.
func (a *answers) patiently(ctx context.Context, n int64, try func() bool) bool {
	if try() {
		return true
	}
	if !a.wait(n) {
		return false
	}
	defer a.wait(-n)
	end := time.After(answerWait)
	for {
		select {
		case <-time.After(10 * time.Millisecond):
		case <-end:
			return false
		case <-ctx.Done():
			return false
		}
		if try() {
			return true
		}
	}
}

func (a *answers) wait(n int64) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if n > 0 && a.waiting > 0 && a.waiting+n > a.most/answersWaiting {
		return false
	}
	a.waiting += n
	return true
}

// take has room for an answer that holds so many bytes until release is called. What is
// not nil is there once, in however many answers.
func (a *answers) take(key string, n int64, what any) (release func(), ok bool) {
	if n <= bigAnswer {
		return func() {}, true
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.shared[what]
	if s == nil {
		if !a.claim(key, n) {
			return nil, false
		}
		s = &share{n: n}
		if what != nil {
			a.shared[what] = s
		}
	}
	s.sent++
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		if s.sent--; s.sent == 0 {
			delete(a.shared, what)
			a.free(key, s.n)
		}
	}, true
}

// claim takes room; a.mu is held. Keys together leave some to who has none yet.
func (a *answers) claim(key string, n int64) bool {
	if !fits(a.of[key], a.total, n, a.most) {
		return false
	}
	a.total += n
	a.of[key] += n
	return true
}

// free gives room back; a.mu is held.
func (a *answers) free(key string, n int64) {
	a.total -= n
	if a.of[key] -= n; a.of[key] == 0 {
		delete(a.of, key)
	}
}

// sharedBy is what an answer has in common with others, or nil.
func sharedBy(v any) any {
	if s, is := v.(api.Status); is && s.Result != nil {
		return s.Result
	}
	return nil
}

// ranAs is the run that an answer tells the end of, for the first time.
func ranAs(v any) string {
	switch v := v.(type) {
	case api.Result:
		return v.Run
	case api.Parted:
		return v.Run
	case api.Executed:
		return v.Run
	}
	return ""
}

// untaken refuses an answer for which there is no room. A run of it is in the history.
func untaken(run string) error {
	p := problem(http.StatusTooManyRequests, api.Fail(api.CodeBusy, "large answers that clients have not read yet fill the memory that is set aside for them: read those, and ask again later; of a run the history has the first 64 KiB of each stream"))
	if run != "" {
		p.Run, p.RetrySafe = run, false
	}
	return p
}
