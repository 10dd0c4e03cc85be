package gateway

import (
	"container/list"
	"sync"

	"github.com/brig-sandbox/brig/api"
)

// A ledger says which blobs each key has brought. The agent keeps a content once,
// whoever brought it; a key that never had it must not get it by naming its digest
// (API-14). It lives as long as the process: who is told unknown-blob brings the
// content again.
type ledger struct {
	mu   sync.Mutex
	keys map[string]*holdings // guarded by mu
}

type holdings struct {
	blobs map[string]*list.Element
	order list.List // of holding, the one used last at the end
	size  int64
}

type holding struct {
	digest string
	size   int64
}

// maxHoldings bounds the number of a key's blobs, as small as they may be.
const maxHoldings = 100_000

// add notes that a key has a blob, and lets go of those it used longest ago when it
// has more than most bytes.
func (l *ledger) add(key, digest string, size int64, most api.Size) {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.keys[key]
	if h == nil {
		h = &holdings{blobs: map[string]*list.Element{}}
		if l.keys == nil {
			l.keys = map[string]*holdings{}
		}
		l.keys[key] = h
	}
	if e := h.blobs[digest]; e != nil {
		h.order.MoveToBack(e)
		return
	}
	h.blobs[digest] = h.order.PushBack(holding{digest, size})
	h.size += size
	for h.size > int64(most) || len(h.blobs) > maxHoldings {
		old := h.order.Remove(h.order.Front()).(holding)
		delete(h.blobs, old.digest)
		h.size -= old.size
	}
}

// has reports whether a key has the blob, and counts it as used.
func (l *ledger) has(key, digest string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.keys[key]
	if h == nil || h.blobs[digest] == nil {
		return false
	}
	h.order.MoveToBack(h.blobs[digest])
	return true
}
