package blobs

import (
	"container/list"
	"context"
	"sync"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/cache"
)

// blobOwners records which key owns which blobs. The agent stores a content once, whichever key
// uploaded it. A key that never uploaded it must not gain access by naming its digest (API-14). The
// record lives as long as the process: a key that gets the error unknown-blob uploads the content
// again.
//
// It also decides which blobs are evicted: those of a key that exceeds its quota, or, if all keys
// together exceed theirs, those of the key that has the most, and never a blob that an accepted run
// still needs. With the agent's own order, the longest unused first, a key with many blobs would
// evict another key's (TestBlobsOfAWaitingRunStay).
type blobOwners struct {
	mu       sync.Mutex
	keys     map[string]*keyBlobs    // guarded by mu
	contents map[string]*blobContent // guarded by mu; by digest
	size     int64                   // guarded by mu; of all keys
}

// keyBlobs are the blobs of one key. Sizes are those of cache.Cost.
type keyBlobs struct {
	blobs map[string]*list.Element
	order list.List // of *holding, the most recently used last
	size  int64     // including uploads in progress
}

type ownedBlob struct {
	digest string
	size   int64
	pins   int // accepted runs that need it
}

// A blobContent is stored or being uploaded for the given number of keys. going is set while a content
// without users is being removed, and closed when that is done: until then an upload of the same
// content waits.
type blobContent struct {
	users    int
	removing chan struct{}
}

// upload is a blob that is being uploaded.
type upload struct {
	owners      *blobOwners
	key, digest string
	max, maxAll int64 // the limits of the key and of all keys; all may be 0: unknown
	size        int64 // reserved for it
}

// beginUpload begins an upload. It waits while the same content is being removed.
func (l *blobOwners) beginUpload(ctx context.Context, key, digest string, maximum, all int64) (*upload, error) {
	for {
		l.mu.Lock()
		if l.keys == nil {
			l.keys, l.contents = map[string]*keyBlobs{}, map[string]*blobContent{}
		}

		c := l.contents[digest]
		if c == nil {
			c = new(blobContent)
			l.contents[digest] = c
		}

		if c.removing == nil {
			c.users++
			if l.keys[key] == nil {
				l.keys[key] = &keyBlobs{blobs: map[string]*list.Element{}}
			}
			l.mu.Unlock()
			return &upload{owners: l, key: key, digest: digest, max: maximum, maxAll: all}, nil
		}

		l.mu.Unlock()
		select {
		case <-c.removing:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// reserve reserves space for content of n bytes and returns the contents that are evicted for it. The
// caller must remove these from the agent and then call removed for each, also if there is an
// error.
func (d *upload) reserve(n int64) (evicted []string, err error) {
	l := d.owners
	l.mu.Lock()
	defer l.mu.Unlock()

	cost := d.cost(n)
	if d.maxAll > 0 && cost > d.maxAll {
		return nil, api.Refuse(api.CodeTooLarge,
			"the blob is larger than the %s that the agent has for all blobs together: have the operator raise brigd "+
				"--blob-cache", api.Size(d.maxAll))
	}

	own, more := l.keys[d.key], cost-d.size
	drop := func(h *keyBlobs) bool {
		digest, ok := l.evict(h)
		if digest != "" {
			evicted = append(evicted, digest)
		}
		return ok
	}

	for own.size+more > d.max {
		if !drop(own) {
			return evicted, api.Fail(api.CodeBusy,
				"blobs that are being uploaded, and blobs that accepted runs still need, fill the %s that this key "+
					"may have: send it again when one of these uploads or runs has ended, or have the operator raise "+
					"blobs of the key", api.Size(d.max))
		}
	}

	for d.maxAll > 0 && l.size+more > d.maxAll {
		if !drop(l.largest(own, own.size+more)) {
			return evicted, api.Fail(api.CodeBusy,
				"blobs that are being uploaded, and blobs that accepted runs still need, fill the space that the "+
					"agent has for blobs: send it again when one of these uploads or runs has ended, or have the "+
					"operator raise brigd --blob-cache")
		}
	}

	own.size, l.size, d.size = own.size+more, l.size+more, d.size+more
	return evicted, nil
}

// cost is what content of n bytes counts as. Content as large as its key's limit fits if it is the
// only one.
func (d *upload) cost(n int64) int64 { return min(cache.Cost(n), d.max) }

// largest returns the key to evict a blob of: the one that has the most, of those that have an
// evictable blob and more than size, which the requesting key would then have. If there is none, it
// is the requesting key: no key loses a blob to a key that has more.
func (l *blobOwners) largest(requester *keyBlobs, size int64) *keyBlobs {
	maximum := requester
	for _, h := range l.keys {
		if h.size > max(size, maximum.size) && h.evictable() != nil {
			maximum = h
		}
	}
	return maximum
}

// evictable returns the least recently used blob that no accepted run needs.
func (h *keyBlobs) evictable() *list.Element {
	for e := h.order.Front(); e != nil; e = e.Next() {
		if e.Value.(*ownedBlob).pins == 0 {
			return e
		}
	}
	return nil
}

// evict removes a key's evictable blob from the accounts; it returns false if there is none. The
// digest is set if no other key has the content.
func (l *blobOwners) evict(h *keyBlobs) (digest string, ok bool) {
	e := h.evictable()
	if e == nil {
		return "", false
	}
	old := h.order.Remove(e).(*ownedBlob)
	delete(h.blobs, old.digest)
	h.size -= old.size
	l.size -= old.size
	return l.removeUser(old.digest), true
}

// removeUser removes one user of a content. A content without users is marked as being removed, and its
// digest is returned.
func (l *blobOwners) removeUser(digest string) string {
	c := l.contents[digest]
	if c.users--; c.users > 0 {
		return ""
	}
	c.removing = make(chan struct{})
	return digest
}

// removed records that the agent has removed the content.
func (l *blobOwners) removed(digest string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.contents[digest].removing)
	delete(l.contents, digest)
}

// stored records that the agent has stored the blob, of n bytes.
func (d *upload) stored(n int64) {
	l := d.owners
	l.mu.Lock()
	defer l.mu.Unlock()

	h, over := l.keys[d.key], d.size-d.cost(n) // if the length was unknown, more was reserved
	h.size, l.size, d.size = h.size-over, l.size-over, d.size-over
	if e := h.blobs[d.digest]; e != nil { // uploaded again
		h.order.MoveToBack(e)
		h.size -= d.size
		l.size -= d.size
		l.contents[d.digest].users--
		return
	}

	h.blobs[d.digest] = h.order.PushBack(&ownedBlob{digest: d.digest, size: d.size})
}

// cancel cancels an upload. It returns contents that the caller must remove, as claim does.
func (d *upload) cancel() []string {
	l := d.owners
	l.mu.Lock()
	defer l.mu.Unlock()
	l.keys[d.key].size -= d.size
	l.size -= d.size
	if digest := l.removeUser(d.digest); digest != "" {
		return []string{digest}
	}
	return nil
}

// has reports whether a key owns the blob, and counts that as a use.
func (l *blobOwners) has(key, digest string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.find(key, digest) != nil
}

// owns is has without a use.
func (l *blobOwners) owns(key, digest string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.keys[key]
	return h != nil && h.blobs[digest] != nil
}

func (l *blobOwners) find(key, digest string) *ownedBlob {
	h := l.keys[key]
	if h == nil || h.blobs[digest] == nil {
		return nil
	}
	h.order.MoveToBack(h.blobs[digest])
	return h.blobs[digest].Value.(*ownedBlob)
}

// Pin protects blobs of a key from eviction until the returned function is called, which may be
// called repeatedly. If the key does not own one of them, Pin returns its digest in missing and
// protects none.
func (l *blobOwners) Pin(key string, digests []string) (unpin func(), missing string) {
	if len(digests) == 0 {
		return func() {}, ""
	}

	l.mu.Lock()
	defer l.mu.Unlock()

	all := make([]*ownedBlob, len(digests))
	for i, d := range digests {
		if all[i] = l.find(key, d); all[i] == nil {
			return nil, d
		}
	}

	for _, b := range all {
		b.pins++
	}

	return sync.OnceFunc(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		for _, b := range all {
			b.pins--
		}
	}), ""
}
