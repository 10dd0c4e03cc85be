// Package session keeps sessions: environments that live for many execs, with their files, volumes and
// lifetimes.
package session

import (
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/runtime/calls"
	"github.com/brig-sandbox/brig/runtime/cell"
	"github.com/brig-sandbox/brig/runtime/plan"
	"github.com/brig-sandbox/brig/runtime/run"
	"github.com/brig-sandbox/brig/runtime/volume"
)

// The Registry of a host: the living ones by id, and why the last ones ended.
type Registry struct {
	log     *slog.Logger
	runner  *run.Runner
	Volumes *volume.Store
	lists   *listQueue
	Max     int   // number of living sessions
	weight  int64 // of a session that has left processes running and has no slot

	scans calls.ScanSlot

	mu         sync.Mutex
	byID       map[string]*session // guarded by mu
	idRanges   []*idRange          // guarded by mu; at most Max
	tombstones []tombstone         // guarded by mu; the latest last
	closed     bool                // guarded by mu
}

// An idRange is a range of host ids that no slot and no other session has, see plan.SlotIDs.
type idRange struct {
	index int
	taken bool
	ids   cell.IDMaps
}

// A tombstone is what remains of an ended session: it tells a caller that asks for the session why
// it ended.
type tombstone struct {
	id     string
	uid    uint32
	reason string
}

// maxTombstones limits how many tombstones are kept.
const maxTombstones = 1024

// NewRegistry makes a registry. configured is how many sessions the operator allows, and maximum how
// many of them the limit on open files allows.
func NewRegistry(r *run.Runner, volumes *volume.Store, configured, maximum int) *Registry {
	return &Registry{
		log: r.Log, runner: r, Volumes: volumes, lists: newListQueue(maxLists, maxWaitingLists), Max: maximum,
		weight: leftoverWeight(configured), byID: map[string]*session{},
	}
}

// admit gives a session its range of ids, and reserves its memory for its life: what its processes
// may use, and the files that are put into it, which are charged to the agent.
func (r *Registry) admit(p *plan.Session) (*idRange, error) {
	r.mu.Lock()
	defer r.mu.Unlock()

	if r.closed {
		return nil, api.Fail(api.CodeStopping, "the agent is stopping: make the session again later")
	}
	if r.Max == 0 {
		return nil, api.Refuse(api.CodeUnsupported,
			"sessions are disabled on this agent: have the operator raise --sessions, or the agent's limit on open files")
	}

	i := slices.IndexFunc(r.idRanges, func(p *idRange) bool { return !p.taken })
	if i < 0 && len(r.idRanges) == r.Max {
		return nil, api.Fail(api.CodeSessionsFull,
			"%d sessions exist, which is the maximum for this agent: end one, send the request again later, or have "+
				"the operator raise --sessions", r.Max)
	}
	if err := r.runner.Pool.ReserveMemory(p.Reservation()); err != nil {
		return nil, err
	}
	if i < 0 {
		i = len(r.idRanges)
		r.idRanges = append(r.idRanges, &idRange{index: plan.FirstSessionRange + i})
	}

	r.idRanges[i].taken = true
	return r.idRanges[i], nil
}

// release releases what admit gave.
func (r *Registry) release(at *idRange, p *plan.Session) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at.taken = false
	r.runner.Pool.ReleaseMemory(p.Reservation())
}

// register adds a session to the living ones, unless the host is closing.
func (r *Registry) register(s *session) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		r.byID[s.id] = s
	}
	return !r.closed
}

// remove removes a session and keeps only its tombstone.
func (r *Registry) remove(s *session, why string) {
	r.release(s.idRange, s.plan)
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.byID, s.id)
	if len(r.tombstones) == maxTombstones {
		r.tombstones = slices.Delete(r.tombstones, 0, 1)
	}
	r.tombstones = append(r.tombstones, tombstone{s.id, s.owner.UID, why})
}

// find returns a session to the user that made it, and to root. For all other users it does not
// exist.
func (r *Registry) find(id string, c api.Caller) (*session, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.byID[id]; s != nil && mayAccess(c, s.owner.UID) {
		return s, nil
	}
	for _, o := range r.tombstones {
		if o.id == id && mayAccess(c, o.uid) {
			return nil, endedError(id, o.reason)
		}
	}
	return nil, api.Refuse(api.CodeNotFound, "no session has the id %q: see brig session ls", id)
}

func mayAccess(c api.Caller, owner uint32) bool { return c.UID == 0 || c.UID == owner }

func endedError(id, why string) *api.Error {
	return api.Refuse(api.CodeSessionEnded, "session %s has ended: %s: make another", id, why)
}

// visibleTo lists the sessions that a caller may see, the oldest first.
func (r *Registry) visibleTo(c api.Caller) []*session {
	r.mu.Lock()
	defer r.mu.Unlock()

	var out []*session
	for _, s := range r.byID {
		if mayAccess(c, s.owner.UID) {
			out = append(out, s)
		}
	}

	slices.SortFunc(out, func(a, b *session) int {
		if a.born != b.born {
			return int(a.born - b.born)
		}
		return strings.Compare(a.id, b.id)
	})

	return out
}

// Count is the number of living sessions.
func (r *Registry) Count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.byID)
}

// Close ends every session and lets no new one be made. All execs must have ended before.
func (r *Registry) Close() error {
	r.mu.Lock()
	r.closed = true
	living := make([]*session, 0, len(r.byID))
	for _, s := range r.byID {
		living = append(living, s)
	}

	r.mu.Unlock()
	for _, s := range living {
		s.end("the agent was stopped")
	}

	var err error
	for _, s := range living {
		<-s.done
	}

	for _, at := range r.idRanges {
		err = errors.Join(err, at.ids.Close())
	}
	return err
}
