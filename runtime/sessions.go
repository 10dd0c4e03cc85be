package runtime

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/brig-sandbox/brig/api"
)

// The sessions of a host: those that live, by id, and of the last that ended, why.
type sessions struct {
	host *Host
	most int

	looks lookTurns

	mu     sync.Mutex
	living map[string]*session // guarded by mu
	seats  []*seat             // guarded by mu; grows up to most
	ended  []obituary          // guarded by mu; the latest last
	closed bool                // guarded by mu
}

// A seat is what a session has of the host's that no slot and no other session has:
// a range of ids, see slotIDs.
type seat struct {
	index int
	taken bool
	ids   idMaps
}

// firstSeat is the first range of ids that belongs to sessions: those before are the
// slots'.
const firstSeat = maxSlot

// An obituary tells one who asks for a session that ended what became of it.
type obituary struct {
	id  string
	uid uint32
	why string
}

// maxObituaries bounds what is remembered.
const maxObituaries = 1024

// maxSessions bounds what an operator may allow.
const maxSessions = 1024

func newSessions(h *Host, most int) *sessions {
	return &sessions{host: h, most: most, living: map[string]*session{}}
}

// admit gives a session its seat, and promises its memory for its life: what it may
// hold in processes, and the files that are put into it, which we are charged for.
func (all *sessions) admit(p *sessionPlan) (*seat, error) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.closed {
		return nil, api.Fail(api.CodeStopping, "the agent is stopping: make the session again later")
	}
	if all.most == 0 {
		return nil, api.Refuse(api.CodeUnsupported, "this agent keeps no sessions: have the operator raise --sessions, or the agent's limit on open files")
	}
	i := slices.IndexFunc(all.seats, func(p *seat) bool { return !p.taken })
	if i < 0 && len(all.seats) == all.most {
		return nil, api.Fail(api.CodeSessionsFull, "%d sessions live and this agent keeps no more: end one, come again later, or have the operator raise --sessions", all.most)
	}
	if err := all.host.pool.promise(p.promise()); err != nil {
		return nil, err
	}
	if i < 0 {
		i = len(all.seats)
		all.seats = append(all.seats, &seat{index: firstSeat + i})
	}
	all.seats[i].taken = true
	return all.seats[i], nil
}

func (p *sessionPlan) promise() api.Size {
	return p.limits.Memory + p.limits.Swap + p.limits.Scratch + waitTables(p.limits.Pids, p.exec.OpenFiles)
}

// vacate takes back what admit gave.
func (all *sessions) vacate(at *seat, p *sessionPlan) {
	all.mu.Lock()
	defer all.mu.Unlock()
	at.taken = false
	all.host.pool.redeem(p.promise())
}

// register makes a session known, unless the host is closing.
func (all *sessions) register(s *session) bool {
	all.mu.Lock()
	defer all.mu.Unlock()
	if !all.closed {
		all.living[s.id] = s
	}
	return !all.closed
}

// bury forgets a session, but for why it ended.
func (all *sessions) bury(s *session, why string) {
	all.vacate(s.seat, s.plan)
	all.mu.Lock()
	defer all.mu.Unlock()
	delete(all.living, s.id)
	if len(all.ended) == maxObituaries {
		all.ended = slices.Delete(all.ended, 0, 1)
	}
	all.ended = append(all.ended, obituary{s.id, s.owner.UID, why})
}

// find gives a session to the user who made it, and to root. To anybody else it does
// not exist.
func (all *sessions) find(id string, c Caller) (*session, error) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if s := all.living[id]; s != nil && may(c, s.owner.UID) {
		return s, nil
	}
	for _, o := range all.ended {
		if o.id == id && may(c, o.uid) {
			return nil, endedError(id, o.why)
		}
	}
	return nil, api.Refuse(api.CodeNotFound, "no session has the id %q: see brig session ls", id)
}

func may(c Caller, owner uint32) bool { return c.UID == 0 || c.UID == owner }

func endedError(id, why string) *api.Error {
	return api.Refuse(api.CodeSessionEnded, "session %s has ended: %s: make another", id, why)
}

// of lists the sessions that a caller may see, the oldest first.
func (all *sessions) of(c Caller) []*session {
	all.mu.Lock()
	defer all.mu.Unlock()
	var out []*session
	for _, s := range all.living {
		if may(c, s.owner.UID) {
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
	return len(all.living)
}

// Close ends every session and makes no more. Execs under way must have ended.
func (all *sessions) Close() error {
	all.mu.Lock()
	all.closed = true
	living := make([]*session, 0, len(all.living))
	for _, s := range all.living {
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
	for _, at := range all.seats {
		err = errors.Join(err, at.ids.Close())
	}
	return err
}

// CreateSession makes a session that belongs to the caller. Its error is an
// *api.Error.
func (h *Host) CreateSession(ctx context.Context, ask api.SessionRequest, c Caller) (api.Session, error) {
	s, err := h.createSession(ctx, ask, c)
	if err != nil {
		return api.Session{}, h.told(err, "")
	}
	return s.info()
}

func (h *Host) createSession(ctx context.Context, ask api.SessionRequest, c Caller) (*session, error) {
	p, err := h.planSession(ask, c)
	if err != nil {
		return nil, err
	}
	at, err := h.sessions.admit(p)
	if err != nil {
		return nil, err
	}
	s, err := h.newSession(ctx, p, at, c)
	if err != nil {
		h.sessions.vacate(at, p)
		return nil, err
	}
	known := h.sessions.register(s)
	go s.live()
	switch {
	case !known:
		s.end("the agent was stopped")
		err = api.Fail(api.CodeStopping, "the agent is stopping: make the session again later")
	case ctx.Err() != nil: // nobody learns its id
		s.end("its caller left before it was made")
		err = api.Fail(api.CodeStopping, "canceled while the session was being made: %w", ctx.Err())
	default:
		return s, nil
	}
	<-s.done
	return nil, err
}

// told gives a failure its code, and says in the log what the caller is not told.
func (h *Host) told(err error, run string) *api.Error {
	if short := exhaustion(err); short != nil {
		h.log.Error("the host is exhausted", "run", run, "err", err)
		err = short
	}
	return apiError(err, run)
}

// Sessions lists those the caller may see: his own, or for root all.
func (h *Host) Sessions(c Caller) []api.Session {
	out := []api.Session{}
	for _, s := range h.sessions.of(c) {
		if i, err := s.info(); err == nil { // one that ends just now is none
			out = append(out, i)
		}
	}
	return out
}

// Session tells how one is.
func (h *Host) Session(id string, c Caller) (api.Session, error) {
	s, err := h.sessions.find(id, c)
	if err != nil {
		return api.Session{}, err
	}
	return s.info()
}

// UseSession is Session, and its idle time begins anew.
func (h *Host) UseSession(id string, c Caller) (api.Session, error) {
	s, err := h.sessions.find(id, c)
	if err != nil {
		return api.Session{}, err
	}
	if err := s.enter(); err != nil {
		return api.Session{}, err
	}
	s.leave()
	return s.info()
}

// DeleteSession ends one, with all that runs in it, and returns when nothing of it is
// left.
func (h *Host) DeleteSession(id string, c Caller) error {
	s, err := h.sessions.find(id, c)
	if err != nil {
		return err
	}
	s.end("it was deleted")
	<-s.done
	return nil
}
