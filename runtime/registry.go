package runtime

import (
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/runtime/plan"
	"github.com/brig-sandbox/brig/runtime/volume"
)

// The sessions of a host: the living ones by id, and why the last ones ended.
type sessions struct {
	log     *slog.Logger
	runner  *runner
	volumes *volume.Store
	lists   *listQueue
	max     int   // number of living sessions
	weight  int64 // of a session that has left processes running and has no slot

	scans scanSlot

	mu         sync.Mutex
	byID       map[string]*session // guarded by mu
	idRanges   []*idRange          // guarded by mu; grows up to most
	tombstones []tombstone         // guarded by mu; the latest last
	closed     bool                // guarded by mu
}

// A idRange is a range of host ids that no slot and no other session has, see slotIDs.
type idRange struct {
	index int
	taken bool
	ids   idMaps
}

// An tombstone is the tombstone of an ended session: it tells a caller that asks for the session why
// it ended.
type tombstone struct {
	id     string
	uid    uint32
	reason string
}

// maxTombstones limits how many tombstones are kept.
const maxTombstones = 1024

// newSessions makes a registry. configured is how many sessions the operator allows, and most how
// many of them the limit on open files allows.
func newSessions(r *runner, volumes *volume.Store, configured, most int) *sessions {
	return &sessions{
		log: r.log, runner: r, volumes: volumes, lists: newListQueue(maxLists, maxWaitingLists), max: most,
		weight: leftoverWeight(configured), byID: map[string]*session{},
	}
}

// admit gives a session its range of ids, and reserves its memory for its life: what its processes
// may use, and the files that are put into it, which are charged to the agent.
func (all *sessions) admit(p *plan.Session) (*idRange, error) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.closed {
		return nil, api.Fail(api.CodeStopping, "the agent is stopping: make the session again later")
	}
	if all.max == 0 {
		return nil, api.Refuse(api.CodeUnsupported, "sessions are disabled on this agent: have the operator raise --sessions, or the agent's limit on open files")
	}
	i := slices.IndexFunc(all.idRanges, func(p *idRange) bool { return !p.taken })
	if i < 0 && len(all.idRanges) == all.max {
		return nil, api.Fail(api.CodeSessionsFull, "%d sessions exist, which is the most for this agent: end one, send the request again later, or have the operator raise --sessions", all.max)
	}
	if err := all.runner.pool.reserveMemory(p.Reservation()); err != nil {
		return nil, err
	}
	if i < 0 {
		i = len(all.idRanges)
		all.idRanges = append(all.idRanges, &idRange{index: plan.FirstSessionRange + i})
	}
	all.idRanges[i].taken = true
	return all.idRanges[i], nil
}

// release releases what admit gave.
func (all *sessions) release(at *idRange, p *plan.Session) {
	all.mu.Lock()
	defer all.mu.Unlock()
	at.taken = false
	all.runner.pool.releaseMemory(p.Reservation())
}

// register adds a session to the living ones, unless the host is closing.
func (all *sessions) register(s *session) bool {
	all.mu.Lock()
	defer all.mu.Unlock()
	if !all.closed {
		all.byID[s.id] = s
	}
	return !all.closed
}

// remove removes a session and keeps only its tombstone.
func (all *sessions) remove(s *session, why string) {
	all.release(s.idRange, s.plan)
	all.mu.Lock()
	defer all.mu.Unlock()
	delete(all.byID, s.id)
	if len(all.tombstones) == maxTombstones {
		all.tombstones = slices.Delete(all.tombstones, 0, 1)
	}
	all.tombstones = append(all.tombstones, tombstone{s.id, s.owner.UID, why})
}

// find returns a session to the user that made it, and to root. For all other users it does not
// exist.
func (all *sessions) find(id string, c api.Caller) (*session, error) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if s := all.byID[id]; s != nil && mayAccess(c, s.owner.UID) {
		return s, nil
	}
	for _, o := range all.tombstones {
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
func (all *sessions) visibleTo(c api.Caller) []*session {
	all.mu.Lock()
	defer all.mu.Unlock()
	var out []*session
	for _, s := range all.byID {
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

func (all *sessions) count() int {
	all.mu.Lock()
	defer all.mu.Unlock()
	return len(all.byID)
}

// Close ends every session and lets no new one be made. All execs must have ended before.
func (all *sessions) Close() error {
	all.mu.Lock()
	all.closed = true
	living := make([]*session, 0, len(all.byID))
	for _, s := range all.byID {
		living = append(living, s)
	}
	all.mu.Unlock()
	for _, s := range living {
		s.end("the agent was stopped")
	}
	var err error
	for _, s := range living {
		<-s.done
	}
	for _, at := range all.idRanges {
		err = errors.Join(err, at.ids.Close())
	}
	return err
}
