package sessions

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/brig-sandbox/brig/agent/client"
	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/auth"
	"github.com/brig-sandbox/brig/service/core"
	"github.com/brig-sandbox/brig/service/queue"
	"github.com/brig-sandbox/brig/service/quota"
)

// Creations wait for room: in a queue until few enough are ahead, for the quota of their key, and last in the agent for
// a place and memory (docs/adr/0060-sessions-wait-for-room.md). A creation ends with its client, and leaves nothing.

// maxCreating is how many creations wait for room in the agent, or for the quota of their key, at a time. The agent lets
// twice as many wait (runtime/pool/line.go). Further ones wait in a queue that is fair between keys. If there are
// several keys, each has at most a part of them: a key that has all of its sessions keeps no other key waiting.
const (
	maxCreating       = 64
	maxCreatingOfAKey = 16
)

// creations are those under way.
type creations struct {
	queue *queue.Queue // of those that must wait before they may ask for room
	turns *quota.Pool  // of each key: only the first one in order asks for its quota

	mu  sync.Mutex
	all map[*creation]struct{} // guarded by mu
}

func newCreations(places int) *creations {
	return &creations{queue: queue.New(maxCreating, places), turns: quota.New(quota.PerKey(1)),
		all: map[*creation]struct{}{}}
}

// A creation is one of them.
type creation struct {
	owner  string
	labels api.Labels
	cancel context.CancelCauseFunc
	done   chan struct{} // closed when it has made a session, or failed
	failed bool          // set before done is closed
}

// errRunEnded is the cause of the end of a creation whose run was ended.
var errRunEnded = errors.New("its run was ended")

// begin begins a creation. ctx ends with the creation, or with the service.
func (cs *creations) begin(ctx, stopping context.Context, owner string, labels api.Labels) (context.Context, *creation) {
	one := &creation{owner: owner, labels: labels, done: make(chan struct{})}
	ctx, one.cancel = context.WithCancelCause(ctx)
	stop := context.AfterFunc(stopping, func() { one.cancel(core.ErrStop) })
	context.AfterFunc(ctx, func() { stop() })

	cs.mu.Lock()
	defer cs.mu.Unlock()
	cs.all[one] = struct{}{}
	return ctx, one
}

// end ends what begin began.
func (cs *creations) end(one *creation, failed bool) {
	cs.mu.Lock()
	delete(cs.all, one)
	cs.mu.Unlock()
	one.cancel(nil)
	one.failed = failed
	close(one.done)
}

// endLabeled ends the creations of an owner that e names, and waits until they have ended. It returns how many made no
// session because of it. Those that have made one are in the registry then.
func (cs *creations) endLabeled(ctx context.Context, owner string, e api.EndRequest) (ended int, err error) {
	var ending []*creation
	cs.mu.Lock()
	for one := range cs.all {
		if one.owner == owner && e.Has(one.labels) {
			one.cancel(errRunEnded)
			ending = append(ending, one)
		}
	}
	cs.mu.Unlock()

	for _, one := range ending {
		select {
		case <-one.done:
			if one.failed {
				ended++
			}
		case <-ctx.Done():
			return ended, api.Fail(api.CodeBusy, "a session of run %q is still being created: send the request again", e.Run)
		}
	}
	return ended, nil
}

// createSession waits for room for a session, and has the agent create it. If the client leaves, nothing is left.
func (ss *Sessions) createSession(ctx context.Context, ask api.SessionRequest, c core.Caller) (s api.Session, err error) {
	if ss.Stopping.Err() != nil {
		return s, core.ErrStopping()
	}

	ctx, one := ss.creations.begin(ctx, ss.Stopping, c.Name, ask.Labels)
	defer func() { ss.creations.end(one, err != nil) }()

	wait, stop := context.WithTimeoutCause(ctx, ss.Config.Wait, core.WaitTimeout(ss.Config.Wait))
	defer stop()

	s, err = ss.createWithin(ctx, wait, ask, c)
	switch cause := context.Cause(ctx); {
	case err == nil:
		return s, nil
	case errors.Is(cause, core.ErrStop):
		return s, core.ErrStopping()
	case errors.Is(cause, errRunEnded):
		return s, api.Refuse(api.CodeSessionEnded,
			"the session ended while it was being made: its run %q was ended: make another", ask.Labels.Run)
	case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
		return s, core.Problem(http.StatusServiceUnavailable, api.Fail(api.CodeQueueTimeout,
			"there was no room for the session within %v, because others wait before it: end sessions, send the request "+
				"again later, or have the operator raise --wait", ss.Config.Wait))
	}
	return s, err
}

// createWithin is createSession, which waits for room until wait ends.
func (ss *Sessions) createWithin(ctx, wait context.Context, ask api.SessionRequest,
	c core.Caller) (s api.Session, err error) {
	place, err := ss.creations.queue.Take(wait, creationOwner(c, ask, ss.Config.Keys))
	if err != nil {
		return s, err
	}
	defer place.Release()

	reserved := reservationPrefix + core.NewID()
	if err := ss.reserve(wait, reserved,
		sessionEntry{owner: c.Name, labels: ask.Labels, language: ask.Language, memory: requestedMemory(ask)}, c); err != nil {
		return s, err
	}

	if s, err = ss.makeSession(ctx, wait, ask, c); err != nil {
		return s, errors.Join(err, ss.registry.drop(reserved))
	}
	err = ss.registry.commit(reserved, s.ID, totalMemory(s.Limits))
	if err == nil {
		err = context.Cause(ctx) // nobody would learn its id
	}
	if err != nil {
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		return s, errors.Join(err, ss.Config.Agent.DeleteSession(within, s.ID), ss.registry.drop(s.ID))
	}
	return s, nil
}

func creationOwner(c core.Caller, ask api.SessionRequest, keys *auth.Keys) queue.Owner {
	o := queue.Owner{Key: c.Name, Project: ask.Labels.Project, MaxWaiting: c.Waiting}
	if keys.Multiple() {
		o.MaxSlots = maxCreatingOfAKey
	}
	return o
}

// askAgent has the agent create a session, which waits there for room until wait ends.
func (ss *Sessions) askAgent(ctx, wait context.Context, ask api.SessionRequest) (api.Session, error) {
	for pause := core.MaxRetryPause; ; pause = min(2*pause, core.MaxSlowRetryPause) {
		left := api.MaxSlotWait
		if end, limited := wait.Deadline(); limited {
			left = min(left, max(time.Until(end), 0))
		}

		s, err := ss.Config.Agent.CreateSession(client.WithWait(ctx, left), ask)
		if !api.HasCode(err, api.CodeBusy, api.CodeOverloaded, api.CodeSessionsFull) {
			return s, err
		}
		select {
		case <-time.After(pause):
		case <-wait.Done():
			return s, err
		}
	}
}
