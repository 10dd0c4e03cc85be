package cache

import (
	"io/fs"
	"slices"
	"sync"
	"syscall"
	"time"
)

// recent holds in memory what was read and checked last: reading and hashing a
// program of 2 MiB again costs more than running it. Its zero value is empty.
type recent struct {
	mu      sync.Mutex
	entries []entry // guarded by mu; the one used last at the end
	size    int     // guarded by mu; bytes of all
}

type entry struct {
	name    string
	stamp   stamp
	content []byte
}

// A stamp tells a file on disk from one that was put there instead, or written to.
type stamp struct {
	ino      uint64
	size     int64
	modified time.Time
}

func stampOf(st fs.FileInfo) stamp {
	return stamp{st.Sys().(*syscall.Stat_t).Ino, st.Size(), st.ModTime()}
}

// The bounds of what is held. Few programs are run at a time, so a list is searched
// as fast as a map.
const (
	recentEntries = 32
	recentBytes   = 16 << 20
)

// get gives what was read from a file that is the same still.
func (r *recent) get(name string, now stamp) ([]byte, bool) {
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

// keep holds content, and lets go of what was used longest ago. One that is larger than
// all the room is not held.
func (r *recent) keep(name string, of stamp, content []byte) {
	if len(content) > recentBytes {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := slices.IndexFunc(r.entries, func(e entry) bool { return e.name == name }); i >= 0 {
		r.drop(i) // another read it meanwhile, or it was put anew
	}
	r.entries = append(r.entries, entry{name, of, content})
	r.size += len(content)
	for len(r.entries) > recentEntries || r.size > recentBytes {
		r.drop(0)
	}
}

func (r *recent) drop(i int) {
	r.size -= len(r.entries[i].content)
	r.entries = slices.Delete(r.entries, i, i+1)
}

func (r *recent) forget(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := slices.IndexFunc(r.entries, func(e entry) bool { return e.name == name }); i >= 0 {
		r.drop(i)
	}
}
