package runs

import (
	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/queue"
)

// Progress returns the state of a run of an owner that nobody waits for, or that has just ended, and while it waits for a
// slot how many others come before it. It reports false if there is no such run: the history may have it.
func (rs *Runs) Progress(owner, id string) (s api.Status, ahead *int, ok bool) {
	a := rs.Active.Get(owner, id)
	if a == nil {
		return s, nil, false
	}

	if n, waits := rs.Queue.Ahead(queue.Owner{Key: owner, Project: a.labels.Project, Request: id}); waits {
		ahead = &n
	}
	return a.Status(), ahead, true
}
