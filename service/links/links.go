// Package links makes links to runs, and answers those who have one. A link shows the outcome of one run to somebody
// without a key, such as the student who has written the program; what else it shows its maker says.
//
// The token of a link is 32 random bytes. The service keeps its SHA-256 alone, so what is stored opens nothing.
package links

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/core"
	"github.com/brig-sandbox/brig/service/history"
	"github.com/brig-sandbox/brig/service/queue"
	"github.com/brig-sandbox/brig/service/quota"
	"github.com/brig-sandbox/brig/service/runs"
)

// Bounds of links. A link costs at most memoryOfLink bytes.
const (
	maxLinks       = 10_000 // of all keys; one key has at most half of them if there are others
	maxLinksPerRun = 16
	memoryOfLink   = 1 << 10

	// MaxMemory is the most memory that links take up.
	MaxMemory = maxLinks * memoryOfLink
)

// How often links are read. What is above is refused: the page asks again later.
const (
	readsPerSecond  = 2 // of one link
	readsAtOnce     = 20
	missesPerSecond = 100 // of tokens that open nothing, of all callers
	missesAtOnce    = 200
	readSlots       = 2 // reads of the history for links; they take no slot of those with a key
	readsWaiting    = 256
)

// Links are the links of all keys.
type Links struct {
	*core.Core
	runs    *runs.Runs
	history *history.Store
	now     func() time.Time
	reads   *queue.Queue
	missed  *rate.Limiter

	changing sync.Mutex // held from a change of the history to that of the maps

	mu    sync.Mutex
	bySum map[[sha256.Size]byte]*link // guarded by mu
	byRun map[string][]*link          // guarded by mu; in the order of their creation
	count map[string]int64            // guarded by mu; how many links a key has
}

// A link is one that may have expired.
type link struct {
	history.Link
	rate *rate.Limiter // nil: it was not read yet; guarded by Links.mu
}

// New reads the links that the history has.
func New(ctx context.Context, c *core.Core, rs *runs.Runs) (*Links, error) {
	ls := &Links{Core: c, runs: rs, history: c.Config.History, now: time.Now, reads: queue.New(readSlots, readsWaiting),
		missed: rate.NewLimiter(missesPerSecond, missesAtOnce), bySum: map[[sha256.Size]byte]*link{}, byRun: map[string][]*link{},
		count: map[string]int64{}}

	kept, err := ls.history.Links(ctx)
	if err != nil {
		return nil, err
	}
	for _, k := range kept {
		ls.put(&link{Link: k})
	}
	return ls, nil
}

// put adds a link to the maps.
func (ls *Links) put(l *link) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	ls.bySum[l.Sum] = l
	ls.byRun[l.Run] = append(ls.byRun[l.Run], l)
	ls.count[l.Owner]++
}

// mayAdd reports whether a key may have one more link, and how many it has.
func (ls *Links) mayAdd(owner string) (has int64, may bool) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	has, all := ls.count[owner], int64(len(ls.bySum))
	return has, all < maxLinks && (!ls.Config.Keys.Multiple() || quota.Fair(has, all, 1, maxLinks, 1))
}

// make makes a link of a run of an owner, and drops those that have expired.
func (ls *Links) make(ctx context.Context, owner, run string, ask api.RunLinkRequest) (api.RunLink, error) {
	ls.changing.Lock()
	defer ls.changing.Unlock()

	now := ls.now()
	var names map[string]bool // of the keys that there are; nil: the service has none
	if ls.Config.Keys != nil {
		names = map[string]bool{}
		for _, k := range ls.Config.Keys.List() {
			names[k.Name] = true
		}
	}

	var expired []*link // and those of removed keys: they open nothing, and nobody else could revoke them
	of := 0
	ls.mu.Lock()
	for _, l := range ls.bySum {
		switch {
		case !now.Before(l.Expires), names != nil && !names[l.Owner]:
			expired = append(expired, l)
		case l.Run == run:
			of++
		}
	}
	ls.mu.Unlock()
	if of >= maxLinksPerRun {
		return api.RunLink{}, api.Refuse(api.CodeConflict, "run %.64s has %d links, and that is the maximum: revoke one", run, of)
	}
	if err := ls.drop(ctx, expired); err != nil {
		return api.RunLink{}, err
	}
	if has, may := ls.mayAdd(owner); !may {
		return api.RunLink{}, core.Problem(http.StatusTooManyRequests, api.Fail(api.CodeBusy,
			"this key has %d links, of %d that all keys may have together: revoke some, or let them expire", has, maxLinks))
	}

	var random [32]byte
	_, _ = rand.Read(random[:]) // never fails (crypto/rand, Go 1.24)
	token := base64.RawURLEncoding.EncodeToString(random[:])
	life := api.LinkLife
	if ask.Lives != nil {
		life = time.Duration(*ask.Lives)
	}

	l := &link{Link: history.Link{Owner: owner, Sum: sha256.Sum256([]byte(token)), RunLink: api.RunLink{ID: core.NewID(), Run: run,
		Show: append([]api.LinkShow{}, ask.Show...), Title: ask.Title, Created: now.UTC(), Expires: now.Add(life).UTC()}}}
	if err := ls.history.ChangeLinks(ctx, &l.Link, nil); err != nil {
		return api.RunLink{}, err
	}
	ls.put(l)

	made := l.RunLink
	made.Token, made.Path = token, "/ui/link/"+token
	return made, nil
}

// drop removes links; changing is held.
func (ls *Links) drop(ctx context.Context, some []*link) error {
	if len(some) == 0 {
		return nil
	}
	ids := make([]string, len(some))
	for i, l := range some {
		ids[i] = l.ID
	}
	if err := ls.history.ChangeLinks(ctx, nil, ids); err != nil {
		return err
	}

	ls.mu.Lock()
	defer ls.mu.Unlock()
	for _, l := range some {
		delete(ls.bySum, l.Sum)
		rest := slices.DeleteFunc(ls.byRun[l.Run], func(o *link) bool { return o == l })
		if ls.byRun[l.Run] = rest; len(rest) == 0 {
			delete(ls.byRun, l.Run)
		}
		if ls.count[l.Owner]--; ls.count[l.Owner] == 0 {
			delete(ls.count, l.Owner)
		}
	}
	return nil
}

// of lists the links of a run of an owner that have not expired.
func (ls *Links) of(owner, run string) (some []*link) {
	now := ls.now()
	ls.mu.Lock()
	defer ls.mu.Unlock()
	for _, l := range ls.byRun[run] {
		if l.Owner == owner && now.Before(l.Expires) {
			some = append(some, l)
		}
	}
	return some
}

// find returns the link that a token opens. It compares hashes, so the time that it takes tells nothing of a token.
func (ls *Links) find(token string) (l *link, may bool) {
	now := ls.now()
	ls.mu.Lock()
	defer ls.mu.Unlock()
	l = ls.bySum[sha256.Sum256([]byte(token))]
	if l == nil || !now.Before(l.Expires) {
		return nil, ls.missed.AllowN(now, 1)
	}
	if l.rate == nil {
		l.rate = rate.NewLimiter(readsPerSecond, readsAtOnce)
	}
	return l, l.rate.AllowN(now, 1)
}
