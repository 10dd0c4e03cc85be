package operator

import (
	"time"

	"github.com/brig-sandbox/brig/api"
)

// ringSize is 15 minutes of moments.
const ringSize = int(15 * time.Minute / tick)

// A moment is what the service did at one time.
type moment struct {
	at                time.Time
	running, waiting  int
	memory            int64
	judged, notJudged int64 // since the moment before
}

// A ring has the last moments. The zero value has none.
type ring struct {
	moments [ringSize]moment
	next    int // where the next one goes
	n       int // how many there are
}

func (r *ring) add(m moment) {
	r.moments[r.next] = m
	r.next = (r.next + 1) % ringSize
	r.n = min(r.n+1, ringSize)
}

// list returns the moments, the oldest first; all has also what belongs to all keys.
func (r *ring) list(all bool) []api.Moment {
	out := make([]api.Moment, 0, r.n)
	for i := range r.n {
		m := r.moments[(r.next-r.n+i+ringSize)%ringSize]
		one := api.Moment{Time: m.at.UTC(), Running: m.running, Waiting: m.waiting, Memory: m.memory}
		if all {
			one.Judged, one.NotJudged = &m.judged, &m.notJudged
		}
		out = append(out, one)
	}
	return out
}
