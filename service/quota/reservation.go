package quota

import (
	"context"
	"time"
)

// A Reservation is what one request has of a Pool while its need grows and shrinks. Only one
// goroutine at a time may use it. Nothing of a nil Reservation is reserved.
type Reservation struct {
	pool    *Pool
	key     string
	free    int64
	size    int64 // what the request needs
	claimed int64 // what it has of the pool: nothing as long as size is at most free
}

// Reserve makes an empty Reservation. A size up to free needs nothing of the pool; a larger one is
// taken from the pool as a whole.
func (p *Pool) Reserve(key string, free int64) *Reservation {
	return &Reservation{pool: p, key: key, free: free}
}

// Size returns the size of the reservation.
func (r *Reservation) Size() int64 { return r.size }

// short returns what the pool must give for a larger size.
func (r *Reservation) short(size int64) int64 {
	if size <= r.free {
		return 0
	}
	return max(size-r.claimed, 0)
}

// Grow makes the reservation larger, and waits like Acquire if necessary. After an error the size is
// as before.
func (r *Reservation) Grow(ctx context.Context, more int64, wait time.Duration) error {
	if n := r.short(r.size + more); n > 0 {
		if err := r.pool.Acquire(ctx, r.key, n, wait); err != nil {
			return err
		}
		r.claimed += n
	}
	r.size += more
	return nil
}

// TryGrow is Grow without waiting; it reports whether the reservation is larger.
func (r *Reservation) TryGrow(more int64) bool {
	if n := r.short(r.size + more); n > 0 {
		if !r.pool.TryAcquire(r.key, n) {
			return false
		}
		r.claimed += n
	}
	r.size += more
	return true
}

// Shrink makes the reservation as small as size, if it is larger.
func (r *Reservation) Shrink(size int64) {
	r.size = min(r.size, size)
	if over := r.claimed - r.size; over > 0 {
		r.claimed -= over
		r.pool.Release(r.key, over)
	}
}

// Release returns all of the reservation to the pool. It may then be used again.
func (r *Reservation) Release() {
	if r != nil {
		r.Shrink(0)
	}
}
