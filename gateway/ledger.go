package gateway

import (
	"container/list"
	"context"
	"sync"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/cache"
)

// A ledger says which blobs each key has brought. The agent keeps a content once,
// whoever brought it; a key that never had it must not get it by naming its digest
// (API-14). It lives as long as the process: a key that is told unknown-blob brings the
// content again.
//
// It also decides which blobs go: those of a key that has too much, or of the key that has
// most where all together have too much, and never one that an accepted run still needs.
// Of the agent's own order, the longest unused first, a key with many blobs would make
// another's go (TestBlobsOfAWaitingRunStay).
type ledger struct {
	mu       sync.Mutex
	keys     map[string]*holdings // guarded by mu
	contents map[string]*content  // guarded by mu; by digest
	size     int64                // guarded by mu; of all keys
}

// holdings are the blobs of one key. Sizes are those of cache.Cost.
type holdings struct {
	blobs map[string]*list.Element
	order list.List // of *holding, the one used last at the end
	size  int64     // with those that are coming
}

type holding struct {
	digest string
	size   int64
	runs   int // accepted ones that need it
}

// A content is there, or on its way, for so many keys. going is closed once one that nobody
// wants any more has been removed: until then the same content waits to be brought.
type content struct {
	users int
	going chan struct{}
}

// A delivery is a blob on its way.
type delivery struct {
	of          *ledger
	key, digest string
	most, all   int64 // of the key, and of all keys; all may be 0: nobody knows
	size        int64 // claimed for it
}

// bring begins a delivery. It waits while the same content is being removed.
func (l *ledger) bring(ctx context.Context, key, digest string, most, all int64) (*delivery, error) {
	for {
		l.mu.Lock()
		if l.keys == nil {
			l.keys, l.contents = map[string]*holdings{}, map[string]*content{}
		}
		c := l.contents[digest]
		if c == nil {
			c = new(content)
			l.contents[digest] = c
		}
		if c.going == nil {
			c.users++
			if l.keys[key] == nil {
				l.keys[key] = &holdings{blobs: map[string]*list.Element{}}
			}
			l.mu.Unlock()
			return &delivery{of: l, key: key, digest: digest, most: most, all: all}, nil
		}
		l.mu.Unlock()
		select {
		case <-c.going:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// claim makes room for content of n bytes. The contents that go for it are to be removed,
// and then named to removed, also after an error.
func (d *delivery) claim(n int64) (gone []string, err error) {
	l := d.of
	l.mu.Lock()
	defer l.mu.Unlock()
	cost := d.cost(n)
	if d.all > 0 && cost > d.all {
		return nil, api.Refuse(api.CodeTooLarge, "this is larger than the %s that the agent keeps of blobs together: have the operator raise brigd --blob-cache", api.Size(d.all))
	}
	own, more := l.keys[d.key], cost-d.size
	drop := func(h *holdings) bool {
		digest, ok := l.drop(h)
		if digest != "" {
			gone = append(gone, digest)
		}
		return ok
	}
	for own.size+more > d.most {
		if !drop(own) {
			return gone, api.Fail(api.CodeBusy, "blobs that are coming, and those that accepted runs still need, fill the %s that this key may have: send it again when one of them has ended, or have the operator raise blobs on the key", api.Size(d.most))
		}
	}
	for d.all > 0 && l.size+more > d.all {
		if !drop(l.dispensable(own, own.size+more)) {
			return gone, api.Fail(api.CodeBusy, "blobs that are coming, and those that accepted runs still need, fill what the agent keeps of blobs: send it again when one of them has ended, or have the operator raise brigd --blob-cache")
		}
	}
	own.size, l.size, d.size = own.size+more, l.size+more, d.size+more
	return gone, nil
}

// cost is what content of n bytes counts as. One that is as large as its key's bound fits, alone.
func (d *delivery) cost(n int64) int64 { return min(cache.Cost(n), d.most) }

// dispensable is the key that has most of those with a blob to spare and with more than size,
// which the asking key would have; or else the asking key itself: no key loses a blob to one
// that has more.
func (l *ledger) dispensable(asks *holdings, size int64) *holdings {
	most := asks
	for _, h := range l.keys {
		if h.size > max(size, most.size) && h.spare() != nil {
			most = h
		}
	}
	return most
}

// spare is the blob used longest ago that no accepted run needs.
func (h *holdings) spare() *list.Element {
	for e := h.order.Front(); e != nil; e = e.Next() {
		if e.Value.(*holding).runs == 0 {
			return e
		}
	}
	return nil
}

// drop lets go of a key's spare blob; false: there is none. The digest is of a content that
// no other key has.
func (l *ledger) drop(h *holdings) (digest string, ok bool) {
	e := h.spare()
	if e == nil {
		return "", false
	}
	old := h.order.Remove(e).(*holding)
	delete(h.blobs, old.digest)
	h.size -= old.size
	l.size -= old.size
	return l.leave(old.digest), true
}

// leave counts a user of a content less. One without any is going, and its digest is returned.
func (l *ledger) leave(digest string) string {
	c := l.contents[digest]
	if c.users--; c.users > 0 {
		return ""
	}
	c.going = make(chan struct{})
	return digest
}

// removed says that the agent has it no more.
func (l *ledger) removed(digest string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.contents[digest].going)
	delete(l.contents, digest)
}

// arrived notes that the agent has the blob, of n bytes.
func (d *delivery) arrived(n int64) {
	l := d.of
	l.mu.Lock()
	defer l.mu.Unlock()
	h, over := l.keys[d.key], d.size-d.cost(n) // of an unknown length more was claimed
	h.size, l.size, d.size = h.size-over, l.size-over, d.size-over
	if e := h.blobs[d.digest]; e != nil { // brought again
		h.order.MoveToBack(e)
		h.size -= d.size
		l.size -= d.size
		l.contents[d.digest].users--
		return
	}
	h.blobs[d.digest] = h.order.PushBack(&holding{digest: d.digest, size: d.size})
}

// failed takes a delivery back. What it returns is as claim's.
func (d *delivery) failed() []string {
	l := d.of
	l.mu.Lock()
	defer l.mu.Unlock()
	l.keys[d.key].size -= d.size
	l.size -= d.size
	if digest := l.leave(d.digest); digest != "" {
		return []string{digest}
	}
	return nil
}

// has reports whether a key has the blob, and counts it as used.
func (l *ledger) has(key, digest string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.find(key, digest) != nil
}

func (l *ledger) find(key, digest string) *holding {
	h := l.keys[key]
	if h == nil || h.blobs[digest] == nil {
		return nil
	}
	h.order.MoveToBack(h.blobs[digest])
	return h.blobs[digest].Value.(*holding)
}

// hold keeps blobs of a key until letGo is called, which may be called again. missing is one
// that the key has not; then none is held.
func (l *ledger) hold(key string, digests []string) (letGo func(), missing string) {
	if len(digests) == 0 {
		return func() {}, ""
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make([]*holding, len(digests))
	for i, d := range digests {
		if all[i] = l.find(key, d); all[i] == nil {
			return nil, d
		}
	}
	for _, b := range all {
		b.runs++
	}
	return sync.OnceFunc(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		for _, b := range all {
			b.runs--
		}
	}), ""
}
