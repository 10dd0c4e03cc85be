package session

import (
	"context"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/runtime/plan"
	"github.com/brig-sandbox/brig/runtime/run"
)

// Create makes a session that belongs to the caller. Its error is an
// *api.Error.
func (r *Registry) Create(ctx context.Context, ask api.SessionRequest, c api.Caller) (api.Session, error) {
	s, err := r.create(ctx, ask, c)
	if err != nil {
		return api.Session{}, run.ToAPIError(r.log, err, "")
	}
	return s.info()
}

func (r *Registry) create(ctx context.Context, ask api.SessionRequest, c api.Caller) (*session, error) {
	p, err := r.plan(ctx, ask, c)
	if err != nil {
		return nil, err
	}

	at, err := r.admit(p)
	if err != nil {
		return nil, err
	}

	s, err := r.newSession(ctx, p, at, c)
	if err != nil {
		r.release(at, p)
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
		return s, nil
	}

	<-s.done
	return nil, err
}

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

// plan plans a session, after it has checked that the host can give it the volume.
func (r *Registry) plan(ctx context.Context, ask api.SessionRequest, c api.Caller) (*plan.Session, error) {
	if err := r.Volumes.Check(ask.Volume); err != nil {
		return nil, err
	}
	return r.runner.Planner.Session(ctx, ask, c)
}
