package queue

import (
	"slices"
	"strings"
	"time"
)

// A Share is the part that one key has of a queue.
type Share struct {
	Key        string
	Held       int
	Waiting    int       // without those in the background
	Background int       // that wait in the background
	Oldest     time.Time // since when its first request waits; zero: none waits
}

// Shares lists the keys that hold slots or wait for one, by name. It is as long as there are such keys.
func (q *Queue) Shares() []Share {
	q.mu.Lock()
	defer q.mu.Unlock()

	by := map[string]Share{}
	for name, l := range q.lanes {
		s := by[name.key]
		s.Key = name.key
		s.Held += l.held
		if l.background {
			s.Background += l.waiting
		} else {
			s.Waiting += l.waiting
		}

		for _, p := range l.projects {
			if first := p.wait.Front(); first != nil {
				if since := first.Value.(*waiter).since; s.Oldest.IsZero() || since.Before(s.Oldest) {
					s.Oldest = since
				}
			}
		}
		by[name.key] = s
	}

	all := make([]Share, 0, len(by))
	for _, s := range by {
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b Share) int { return strings.Compare(a.Key, b.Key) })
	return all
}
