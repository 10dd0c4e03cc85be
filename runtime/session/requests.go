package session

import (
	"context"
	"fmt"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/runtime/linux"
	"github.com/brig-sandbox/brig/runtime/plan"
	"github.com/brig-sandbox/brig/runtime/run"
)

// Create makes a session that belongs to the caller. It waits for room for at most wait; zero: api.SlotWait. If ctx
// ends, it leaves nothing. Its error is an *api.Error.
func (r *Registry) Create(ctx context.Context, ask api.SessionRequest, wait time.Duration,
	c api.Caller) (api.Session, error) {
	s, err := r.create(ctx, ask, wait, c)
	if err != nil {
		return api.Session{}, run.ToAPIError(r.log, err, "")
	}
	return s.info()
}

func (r *Registry) create(ctx context.Context, ask api.SessionRequest, wait time.Duration,
	c api.Caller) (*session, error) {
	files, err := r.withSnapshot(&ask, c)
	if err != nil {
		return nil, err
	}
	if files != nil {
		defer files.Close()
	}

	p, err := r.plan(ctx, ask, c)
	if err != nil {
		return nil, err
	}

	if err := r.admit(ctx, p, wait); err != nil {
		return nil, err
	}

	s, err := r.newSession(ctx, p, files, c)
	if err != nil {
		r.release(p, 0)
		return nil, err
	}

	registered := r.register(s)
	go s.run()
	switch {
	case !registered:
		s.end("the agent was stopped")
		err = api.Fail(api.CodeStopping, "the agent is stopping: make the session again later")
	case ctx.Err() != nil: // no caller would learn its id
		s.end("its caller disconnected before it was made")
		err = api.Fail(api.CodeStopping, "canceled while the session was being made: %w", ctx.Err())
	default:
		r.makeAhead(p)
		return s, nil
	}

	<-s.done
	return nil, err
}

// makeAhead has a base made for the next session like this one. One with a volume has no such base.
func (r *Registry) makeAhead(p *plan.Session) {
	if p.Ask.Volume != nil {
		return
	}
	if want, err := r.runner.Pool.Factory.Plan(p.Cell); err == nil { // otherwise the next session says what is wrong
		r.ahead.want(aheadKind{want, scratchOf(p), linux.Monotonic() + aheadPause})
	}
}

// ImagesRemoved closes the bases made ahead whose images were removed from the store or replaced.
func (r *Registry) ImagesRemoved() { r.ahead.imagesRemoved() }

// List lists the sessions that the caller may see: its own, or all for root.
func (r *Registry) List(c api.Caller) []api.Session {
	out := []api.Session{}
	for _, s := range r.visibleTo(c) {
		if i, err := s.info(); err == nil { // a session that ends just now is skipped
			out = append(out, i)
		}
	}
	return out
}

// Get describes one session.
func (r *Registry) Get(id string, c api.Caller) (api.Session, error) {
	s, err := r.find(id, c)
	if err != nil {
		return api.Session{}, err
	}
	return s.info()
}

// Use is Get, and restarts the idle time.
func (r *Registry) Use(id string, c api.Caller) (api.Session, error) {
	s, err := r.find(id, c)
	if err != nil {
		return api.Session{}, err
	}
	if err := s.enter(); err != nil {
		return api.Session{}, err
	}
	s.leave()
	return s.info()
}

// SetLife changes when a session ends. It may become no older than a session that is made with the longest life.
func (r *Registry) SetLife(id string, l api.LifeRequest, c api.Caller) (api.Session, error) {
	s, err := r.find(id, c)
	if err != nil {
		return api.Session{}, err
	}
	if err := s.setLife(time.Duration(l.EndsIn), l.Longer, time.Duration(r.runner.Planner.SessionLife)); err != nil {
		return api.Session{}, err
	}
	return s.info()
}

// Delete ends a session with everything that runs in it, and returns when nothing of it is
// left.
func (r *Registry) Delete(id string, c api.Caller) error {
	s, err := r.find(id, c)
	if err != nil {
		return err
	}
	s.end("it was deleted")
	<-s.done
	return nil
}

// End ends the sessions that the caller has made and e names, also for root only its own, and returns their number
// when nothing of them is left.
func (r *Registry) End(e api.EndRequest, c api.Caller) int {
	ending := 0
	for _, s := range r.visibleTo(c) {
		if s.owner.UID != c.UID || !e.Has(s.plan.Ask.Labels) {
			continue
		}
		s.end(fmt.Sprintf("its run %q was ended", e.Run))
		<-s.done
		ending++
	}
	return ending
}

// plan plans a session, after it has checked that the host can give it the volume.
func (r *Registry) plan(ctx context.Context, ask api.SessionRequest, c api.Caller) (*plan.Session, error) {
	if err := r.Volumes.Check(ask.Volume); err != nil {
		return nil, err
	}
	return r.runner.Planner.Session(ctx, ask, c)
}
