// Package session keeps sessions: environments that live for many execs, with their files, volumes and
// lifetimes.
package session

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/runtime/calls"
	"github.com/brig-sandbox/brig/runtime/cell"
	"github.com/brig-sandbox/brig/runtime/linux"
	"github.com/brig-sandbox/brig/runtime/plan"
	"github.com/brig-sandbox/brig/runtime/pool"
	"github.com/brig-sandbox/brig/runtime/run"
	"github.com/brig-sandbox/brig/runtime/snapshot"
	"github.com/brig-sandbox/brig/runtime/volume"
)

// The Registry of a host: the living ones by id, and why the last ones ended.
type Registry struct {
	log      *slog.Logger
	runner   *run.Runner
	Volumes  *volume.Store
	lists    *listQueue
	pathWork *listQueue

	Snapshots    *snapshot.Store
	snapshotWork *listQueue

	Max     int   // number of living sessions
	weight  int64 // of a session that has left processes running and has no slot
	full    error // of a session for which there is no place
	maxMore int   // files that sessions with volumes and packages may have open in addition

	scans calls.ScanSlot
	ahead *ahead

	mu         sync.Mutex
	byID       map[string]*session // guarded by mu
	places     int                 // guarded by mu; of sessions that live or are being made; at most Max
	more       int                 // guarded by mu; the files that these have in addition; at most maxMore
	idRanges   []*idRange          // guarded by mu; at most Max and MaxAhead
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

// KeptFiles are those that stay open whatever sessions there are: two for a range of ids.
const KeptFiles = 2 * keptMaps

// The files that an agent has open for a session that waits: the sockets of its cell and its shell, and their pidfds;
// the listener; the lock of its image, its machine, the directory of its scratch and /box in it; its poller and event;
// the directory of its group, and what a kill and a look for processes need; and the root that its programs see. Under
// cgroup v2 it is one more than under v1. A volume has its mount and its device. Packages that no other cell has are
// another tree, and a child that holds it.
const (
	Files        = 17
	VolumeFiles  = 4
	PackageFiles = 7
)

// filesOf are the files that a session has in addition to Files.
func filesOf(p *plan.Session) (n int) {
	if p.Ask.Volume != nil {
		n += VolumeFiles
	}
	if p.Image.Packages != "" {
		n += PackageFiles
	}
	return n
}

// NewRegistry makes a registry. configured is how many sessions the operator allows, and room what the limit on open
// files allows of them; ahead is how many bases are made ahead at most.
func NewRegistry(r *run.Runner, volumes *volume.Store, snapshots *snapshot.Store, configured int, room pool.Capacity,
	ahead int) *Registry {
	maximum, cure := room.Sessions, "have the operator raise --sessions"
	if maximum < configured {
		cure = "have the operator raise the agent's limit on open files (ulimit -n, LimitNOFILE=)"
	}
	reg := &Registry{
		log: r.Log, runner: r, Volumes: volumes, lists: newListQueue(maxLists, maxWaitingLists), Max: maximum,
		pathWork:  newListQueue(MaxPathWork, maxWaitingPathWork),
		Snapshots: snapshots, snapshotWork: newListQueue(MaxSnapshotWork, maxWaitingSnapshots),
		weight: leftoverWeight(configured), byID: map[string]*session{},
		maxMore: room.SessionFiles,
		full: api.Fail(api.CodeSessionsFull,
			"%d sessions exist, which is the maximum for this agent: end one, send the request again later, or %s",
			maximum, cure),
	}
	reg.ahead = newAhead(reg, ahead)
	return reg
}

// admit waits until there is room for a session, for at most wait, and gives it a place. It reserves the memory of the
// session for its life: what its processes may use, and the files that are put into it, which are charged to the agent.
func (r *Registry) admit(ctx context.Context, p *plan.Session, wait time.Duration) error {
	return r.runner.Pool.AwaitSession(ctx, wait, pool.SessionWant{Memory: p.Reservation(), Take: func() (func(), error) {
		more := filesOf(p)
		if err := r.takePlace(more); err != nil {
			return nil, err
		}
		return func() { r.givePlace(more) }, nil
	}})
}

// takePlace takes a place. The pool calls it with its lock held.
func (r *Registry) takePlace(more int) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.closed:
		return api.Fail(api.CodeStopping, "the agent is stopping: make the session again later")
	case r.Max == 0:
		return api.Refuse(api.CodeUnsupported,
			"sessions are disabled on this agent: have the operator raise --sessions, or the agent's limit on open files")
	case r.places == r.Max:
		return r.full
	case more > 0 && r.more+more > r.maxMore:
		return api.Fail(api.CodeSessionsFull,
			"sessions with volumes or packages have %d files open in addition, and %d is the maximum for this agent: end "+
				"one, send the request again later, or have the operator raise the agent's limit on open files (ulimit -n, "+
				"LimitNOFILE=)", r.more, r.maxMore)
	}
	r.places++
	r.more += more
	return nil
}

func (r *Registry) givePlace(more int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.places--
	r.more -= more
}

// takeRange takes a range of ids. There is one for each place, and for each base that is made ahead.
func (r *Registry) takeRange() (*idRange, error) {
	r.mu.Lock()
	defer r.mu.Unlock()

	i := slices.IndexFunc(r.idRanges, func(p *idRange) bool { return !p.taken })
	if i < 0 && len(r.idRanges) >= r.Max+MaxAhead {
		return nil, errors.New("BUG: no range of ids is left for a session that has a place")
	}
	if i < 0 {
		i = len(r.idRanges)
		r.idRanges = append(r.idRanges, &idRange{index: plan.FirstSessionRange + i})
	}

	r.idRanges[i].taken = true
	return r.idRanges[i], nil
}

// keptMaps is how many ranges of ids keep their user namespaces, which later cells need: making one takes a process.
const keptMaps = 32

// built closes what a range of ids needs no more when a base is complete, unless it is one of the first: each is a file.
func (at *idRange) built() error {
	if at.index < plan.FirstSessionRange+keptMaps {
		return nil
	}
	return at.ids.Close()
}

func (r *Registry) giveRange(at *idRange) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at.taken = false
}

// release releases what admit gave to a session that has lived so long; zero: it was not made.
func (r *Registry) release(p *plan.Session, lived time.Duration) {
	r.givePlace(filesOf(p)) // before: the pool calls takePlace with its own lock held
	r.runner.Pool.SessionEnded(p.Reservation(), lived)
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
	s.base.free()
	r.release(s.plan, linux.Monotonic()-s.born)
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

	r.ahead.close() // last: no session takes a base any more
	for _, at := range r.idRanges {
		err = errors.Join(err, at.ids.Close())
	}
	return err
}
