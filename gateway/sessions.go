package gateway

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// postSession makes a session. A key has one of a project and task at a time.
func (g *Gateway) postSession(w http.ResponseWriter, r *http.Request) error {
	raw, release, err := g.readBody(w, r)
	if err != nil {
		return err
	}
	defer release()
	ask, err := parsedAs[api.SessionRequest](g, r.Context(), raw, "session")
	if err != nil {
		return err
	}
	c := callerOf(r.Context())
	if err := nameVolume(&ask, c); err != nil {
		return err
	}
	if err := ask.Validate(); err != nil {
		return err
	}
	if ask, err = g.permitSession(c, ask); err != nil {
		return err
	}
	place := placePrefix + runID()
	if err := g.reserve(r.Context(), place, booked{owner: c.Name, labels: ask.Labels, language: ask.Language, promised: promised(ask)}, c); err != nil {
		return err
	}
	// A caller who hangs up now leaves a session, which ends by itself when it is idle:
	// its id is known here, and he may ask for it.
	within, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), time.Minute)
	defer cancel()
	s, err := g.makeSession(within, ask, c)
	if err != nil {
		return errors.Join(err, g.sessions.drop(place))
	}
	if err := g.sessions.settle(place, s.ID, promiseOf(s.Limits)); err != nil {
		return errors.Join(err, g.cfg.Agent.DeleteSession(within, s.ID), g.sessions.drop(s.ID))
	}
	g.log.Info("session", "session", s.ID, "key", c.Name, "project", ask.Labels.Project, "task", ask.Labels.Task)
	w.Header().Set("Location", "/v1/sessions/"+s.ID)
	g.reply(w, r, http.StatusCreated, s)
	return nil
}

// reserve keeps a place for a session, unless the service is stopping. What has ended
// without anybody asking is in nobody's way. One that is being made is waited for: its id
// is what the caller is told, and where it fails the place is his.
func (g *Gateway) reserve(ctx context.Context, place string, s booked, c caller) error {
	health, _, _ := g.agent.get()
	room := func(own, all tally) error {
		return c.room(own, all, tally{1, s.promised}, tally{health.SessionsMax, api.Size(health.MemoryMax)}, g.cfg.Keys.several())
	}
	for {
		if g.stopping.Err() != nil {
			return errStopping()
		}
		inTheWay, settled, err := g.sessions.reserve(place, s, room)
		if settled != nil {
			select {
			case <-settled:
				continue
			case <-ctx.Done():
				return err
			}
		}
		gone := false
		for _, id := range inTheWay {
			_, lerr := g.lookAt(ctx, id)
			gone = gone || ended(lerr)
		}
		if !gone {
			return err
		}
	}
}

// getSessions lists the caller's.
func (g *Gateway) getSessions(w http.ResponseWriter, r *http.Request) error {
	page := api.Page[api.Session]{Items: []api.Session{}}
	for _, id := range g.sessions.of(callerOf(r.Context()).Name) {
		s, err := g.lookAt(r.Context(), id)
		switch {
		case ended(err):
		case err != nil:
			return err
		default:
			page.Items = append(page.Items, s)
		}
	}
	g.reply(w, r, http.StatusOK, page)
	return nil
}

// lookAt asks the agent for a session, and forgets one that has ended.
func (g *Gateway) lookAt(ctx context.Context, id string) (api.Session, error) {
	s, err := g.cfg.Agent.Session(ctx, id)
	return shown(s), g.noteEnd(id, err)
}

// noteEnd forgets a session that the agent says has ended. One that it does not know
// has ended with an earlier agent.
func (g *Gateway) noteEnd(id string, err error) error {
	var e *api.Error
	if !ended(err) || !errors.As(err, &e) {
		return err
	}
	if e.Code == api.CodeNotFound {
		e = api.Refuse(api.CodeSessionEnded, "session %s has ended: the agent that had it was stopped: make another", id)
	}
	return errors.Join(e, g.sessions.end(id, e.Message))
}

// noteFile is noteEnd for a failure that may be of a file.
func (g *Gateway) noteFile(ctx context.Context, id string, err error) error {
	if !ended(err) {
		return err
	}
	if _, lerr := g.lookAt(ctx, id); ended(lerr) {
		return lerr
	}
	return err
}

// ended reports that a session is not there any more.
func ended(err error) bool {
	var e *api.Error
	return errors.As(err, &e) && (e.Code == api.CodeSessionEnded || e.Code == api.CodeNotFound)
}

func (g *Gateway) getSession(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	if _, err := g.sessions.find(callerOf(r.Context()).Name, id); err != nil {
		return err
	}
	s, err := g.lookAt(r.Context(), id)
	if err != nil {
		return err
	}
	g.reply(w, r, http.StatusOK, s)
	return nil
}

func (g *Gateway) deleteSession(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	if _, err := g.sessions.find(callerOf(r.Context()).Name, id); err != nil {
		return err
	}
	if err := g.cfg.Agent.DeleteSession(context.WithoutCancel(r.Context()), id); err != nil && !ended(err) {
		return err
	}
	if err := g.sessions.end(id, "session "+id+" has ended: it was deleted: make another"); err != nil {
		g.log.Error("a deleted session stays in the file", "session", id, "err", err) // it is gone, and the next service finds that out
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// endSessions ends those named: what an earlier service left, or all at the end.
func (g *Gateway) endSessions(ctx context.Context, ids []string, why string) error {
	var errs []error
	for _, id := range ids {
		switch err := g.cfg.Agent.DeleteSession(ctx, id); {
		case err == nil:
			g.log.Info("session ended", "session", id, "why", why)
		case !ended(err):
			errs = append(errs, err)
			continue
		default:
			g.log.Info("session had ended", "session", id, "why", why)
		}
		errs = append(errs, g.sessions.drop(id))
	}
	return errors.Join(errs...)
}
