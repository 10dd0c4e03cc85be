package runs

import (
	"container/list"
	"context"
	"sync"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/core"
	"github.com/brig-sandbox/brig/service/events"
	"github.com/brig-sandbox/brig/service/quota"
)

// activeRun is a run without a request that waits for it, from its admission until its events are
// dropped.
type activeRun struct {
	id         string
	owner      string
	labels     api.Labels
	created    time.Time
	Log        *events.Log
	Response   *core.AgentResponse // quota of what the agent sent of it; until the run is dropped
	eventQuota *quota.Reservation  // quota of its events; until it is done
	cancel     context.CancelFunc

	mu      sync.Mutex
	state   api.State      // guarded by mu
	usage   *api.LiveUsage // guarded by mu; the last reported
	result  *api.Result    // guarded by mu; when done, either result or problem is set
	problem *api.Problem   // guarded by mu
}

func (a *activeRun) setUsage(u api.LiveUsage) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.usage = &u
}

// markRunning records that the agent is called, and reports whether that is the first time.
func (a *activeRun) markRunning() (first bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	first = a.state != api.Running
	a.state = api.Running
	return first
}

// activeRuns has the active runs. Runs that are done are retained for a while, so that a client that
// reconnects gets the rest of their events.
type activeRuns struct {
	mu   sync.Mutex
	all  map[string]*activeRun // guarded by mu
	done list.List             // guarded by mu; of kept, the oldest first
	size int                   // guarded by mu; bytes of events of runs that are done
}

// The retention limits of runs that are done.
const (
	maxDoneRuns   = 1000
	MaxDoneBytes  = 64 << 20
	maxActiveRuns = 4096 // runs under way or waiting; the queue's limit is lower
)

func newActiveRuns() *activeRuns { return &activeRuns{all: map[string]*activeRun{}} }

func (r *activeRuns) add(a *activeRun) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.all)-r.done.Len() >= maxActiveRuns {
		return false
	}
	r.all[a.id] = a
	return true
}

// Get finds a run of the owner.
func (r *activeRuns) Get(owner, id string) *activeRun {
	r.mu.Lock()
	defer r.mu.Unlock()
	if a := r.all[id]; a != nil && a.owner == owner {
		return a
	}
	return nil
}

// doneRun is a run that is done; size is the number of bytes of its events.
type doneRun struct {
	*activeRun
	size int
}

// finished ends a run's events, and drops older runs while the retention limits are exceeded.
func (r *activeRuns) finished(a *activeRun) {
	a.Log.End()
	size := a.Log.Size()
	a.eventQuota.Release() // from now on MaxDoneBytes limits them
	r.mu.Lock()
	defer r.mu.Unlock()

	newest := r.done.PushBack(doneRun{a, size})
	r.size += size
	for r.done.Len() > maxDoneRuns || r.size > MaxDoneBytes && r.done.Len() > 1 {
		old := r.done.Remove(r.evictable(newest)).(doneRun)
		r.size -= old.size
		delete(r.all, old.id)
		old.Response.Release()
	}
}

// evictable returns the oldest run, except for the newest, of the key that takes up the most: a
// key with many runs must not cause those of another key to be dropped.
func (r *activeRuns) evictable(newest *list.Element) *list.Element {
	share, first := map[string]float64{}, map[string]*list.Element{}
	maximum := ""
	for e := r.done.Front(); e != newest; e = e.Next() {
		k := e.Value.(doneRun)
		if first[k.owner] == nil {
			first[k.owner] = e
		}
		share[k.owner] += 1/float64(maxDoneRuns) + float64(k.size)/MaxDoneBytes
		if first[maximum] == nil || share[k.owner] > share[maximum] {
			maximum = k.owner
		}
	}

	return first[maximum]
}

// EndEventLogs ends all event logs, so that their readers return.
func (r *activeRuns) EndEventLogs() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, a := range r.all {
		a.Log.End()
	}
}
