package cache

import (
	"io/fs"
	"slices"
	"sync"
	"syscall"
	"time"
)

// memoryCache keeps recently read and checked content in memory: reading and hashing a program of 2 MiB
// again costs more than running it. Its zero value is empty.
type memoryCache struct {
	mu      sync.Mutex
	entries []entry // guarded by mu; the most recently used is last
	size    int     // guarded by mu; bytes of all
}

type entry struct {
	name    string
	stamp   stamp
	content []byte
}

// A stamp identifies a version of a file on disk: it changes when the file is replaced or written.
type stamp struct {
	ino      uint64
	size     int64
	modified time.Time
}

func stampOf(st fs.FileInfo) stamp {
	return stamp{st.Sys().(*syscall.Stat_t).Ino, st.Size(), st.ModTime()}
}

// The limits of the memory. Few programs run at once, so searching a list is as fast as a map.
const (
	maxMemoryEntries = 32
	maxMemoryBytes   = 16 << 20
)

// get returns the content under name if the file still has the stamp now.
func (r *memoryCache) get(name string, now stamp) ([]byte, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.IndexFunc(r.entries, func(e entry) bool { return e.name == name })
	if i < 0 || r.entries[i].stamp != now {
		return nil, false
	}
	e := r.entries[i]
	r.entries = append(slices.Delete(r.entries, i, i+1), e)
	return e.content, true
}

// put stores content and evicts the least recently used entries beyond the limits. It does not
// store content that is larger than the limit.
func (r *memoryCache) put(name string, of stamp, content []byte) {
	if len(content) > maxMemoryBytes {
		return
	}

	r.mu.Lock()
	defer r.mu.Unlock()

	if i := slices.IndexFunc(r.entries, func(e entry) bool { return e.name == name }); i >= 0 {
		r.remove(i) // another goroutine read it in the meantime, or it was stored again
	}

	r.entries = append(r.entries, entry{name, of, content})
	r.size += len(content)
	for len(r.entries) > maxMemoryEntries || r.size > maxMemoryBytes {
		r.remove(0)
	}
}

func (r *memoryCache) remove(i int) {
	r.size -= len(r.entries[i].content)
	r.entries = slices.Delete(r.entries, i, i+1)
}

func (r *memoryCache) forget(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := slices.IndexFunc(r.entries, func(e entry) bool { return e.name == name }); i >= 0 {
		r.remove(i)
	}
}
