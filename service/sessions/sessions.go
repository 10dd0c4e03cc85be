// Package sessions answers requests for sessions, their execs and files, and for volumes.
package sessions

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/core"
	"github.com/brig-sandbox/brig/service/packages"
	"github.com/brig-sandbox/brig/service/permits"
	"github.com/brig-sandbox/brig/service/quota"
	"github.com/brig-sandbox/brig/service/runs"
)

// Sessions are the sessions of the keys, with their files and volumes.
type Sessions struct {
	*core.Core
	permits        *permits.Permits
	installs       *packages.Installations
	runs           *runs.Runs
	registry       *sessionRegistry
	stale          []string    // sessions of an earlier process
	pendingVolumes *quota.Pool // sessions with a volume that are being created
	execs          *quota.Pool // execs of each session, by its id
}

// New makes the sessions of a service that has none yet, apart from those that an earlier process left.
func New(s *core.Core, pm *permits.Permits, i *packages.Installations, rs *runs.Runs) (ss *Sessions, err error) {
	ss = &Sessions{Core: s, permits: pm, installs: i, runs: rs, execs: newExecQuota(),
		pendingVolumes: quota.New(quota.PerKey(1))}
	ss.registry, ss.stale, err = openRegistry(s.Config.Sessions)
	return ss, err
}

// postSession creates a session. A key has at most one session of a project and task.
func (ss *Sessions) postSession(w http.ResponseWriter, r *http.Request) error {
	raw, release, err := ss.ReadBody(w, r)
	if err != nil {
		return err
	}
	defer release()

	ask, err := core.ParseBodyAs[api.SessionRequest](ss.Core, r.Context(), raw, "session")
	if err != nil {
		return err
	}

	c := core.CallerOf(r.Context())
	if err := nameVolume(&ask, c); err != nil {
		return err
	}
	if err := ask.Validate(); err != nil {
		return err
	}
	if ask, err = ss.permits.Session(c, ask); err != nil {
		return err
	}

	wanted := api.PackageRequest{Language: ask.Language, Requirements: ask.Requirements, Index: ask.Index}
	s, err := packages.With(r.Context(), ss.installs, c, wanted,
		func() (api.Session, error) { return ss.createSession(r.Context(), ask, c) })
	if err != nil {
		return err
	}

	ss.Log.Info("session", "session", s.ID, "key", c.Name, "project", ask.Labels.Project, "task", ask.Labels.Task)
	w.Header().Set("Location", "/v1/sessions/"+s.ID)
	ss.Reply(w, r, http.StatusCreated, s)
	return nil
}

// createSession makes a reservation for a session and has the agent create the session.
func (ss *Sessions) createSession(ctx context.Context, ask api.SessionRequest, c core.Caller) (api.Session, error) {
	reserved := reservationPrefix + core.NewID()
	if err := ss.reserve(ctx, reserved,
		sessionEntry{owner: c.Name, labels: ask.Labels, language: ask.Language,
			memory: requestedMemory(ask)}, c); err != nil {
		return api.Session{}, err
	}

	// If the caller disconnects now, it leaves a session, which ends by itself when it is idle. Its
	// id is recorded here, and the caller may list it.
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()

	s, err := ss.makeSession(within, ask, c)
	if err != nil {
		return s, errors.Join(err, ss.registry.drop(reserved))
	}
	if err := ss.registry.commit(reserved, s.ID, totalMemory(s.Limits)); err != nil {
		return s, errors.Join(err, ss.Config.Agent.DeleteSession(within, s.ID), ss.registry.drop(s.ID))
	}
	return s, nil
}

// reserve makes a reservation for a session, unless the service is stopping. Sessions that have
// ended unnoticed do not count. It waits for a conflicting session that is still being created: the
// error then has its id, or, if its creation fails, the caller gets the reservation.
func (ss *Sessions) reserve(ctx context.Context, reserved string, s sessionEntry, c core.Caller) error {
	health, _, _ := ss.Agent.Get()
	checkQuota := func(own, all sessionUsage) error {
		return checkSessionQuota(c, own, all, sessionUsage{1, s.memory},
			sessionUsage{health.SessionsMax, api.Size(health.MemoryMax)}, ss.Config.Keys.Multiple())
	}
	for {
		if ss.Stopping.Err() != nil {
			return core.ErrStopping()
		}

		conflicts, resolved, err := ss.registry.reserve(reserved, s, checkQuota)
		if resolved != nil {
			select {
			case <-resolved:
				continue
			case <-ctx.Done():
				return err
			}
		}

		gone := false
		for _, id := range conflicts {
			_, lerr := ss.fetchSession(ctx, id)
			gone = gone || ended(lerr)
		}

		if !gone {
			return err
		}
	}
}

// getSessions lists the caller's sessions.
func (ss *Sessions) getSessions(w http.ResponseWriter, r *http.Request) error {
	page := api.Page[api.Session]{Items: []api.Session{}}
	for _, id := range ss.Of(core.CallerOf(r.Context()).Name) {
		s, err := ss.fetchSession(r.Context(), id)
		switch {
		case ended(err):
		case err != nil:
			return err
		default:
			page.Items = append(page.Items, s)
		}
	}

	ss.Reply(w, r, http.StatusOK, page)
	return nil
}

// fetchSession queries the agent for a session, and forgets a session that has ended.
func (ss *Sessions) fetchSession(ctx context.Context, id string) (api.Session, error) {
	s, err := ss.Config.Agent.Session(ctx, id)
	return ownersView(s), ss.forgetIfEnded(id, err)
}

// forgetIfEnded forgets a session that has ended according to the agent. A session that the agent does
// not know has ended with an earlier agent process.
func (ss *Sessions) forgetIfEnded(id string, err error) error {
	var e *api.Error
	if !ended(err) || !errors.As(err, &e) {
		return err
	}
	if e.Code == api.CodeNotFound {
		e = api.Refuse(api.CodeSessionEnded, "session %s has ended: the agent that had it was stopped: make another", id)
	}
	return errors.Join(e, ss.registry.end(id, e.Message))
}

// forgetIfSessionEnded is forgetIfEnded for an error that may concern a file only.
func (ss *Sessions) forgetIfSessionEnded(ctx context.Context, id string, err error) error {
	if !ended(err) {
		return err
	}
	if _, lerr := ss.fetchSession(ctx, id); ended(lerr) {
		return lerr
	}
	return err
}

// ended reports whether a session no longer exists.
func ended(err error) bool {
	var e *api.Error
	return errors.As(err, &e) && (e.Code == api.CodeSessionEnded || e.Code == api.CodeNotFound)
}

func (ss *Sessions) getSession(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	if _, err := ss.registry.find(core.CallerOf(r.Context()).Name, id); err != nil {
		return err
	}
	s, err := ss.fetchSession(r.Context(), id)
	if err != nil {
		return err
	}
	ss.Reply(w, r, http.StatusOK, s)
	return nil
}

func (ss *Sessions) deleteSession(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	if _, err := ss.registry.find(core.CallerOf(r.Context()).Name, id); err != nil {
		return err
	}
	if err := ss.Config.Agent.DeleteSession(context.WithoutCancel(r.Context()), id); err != nil && !ended(err) {
		return err
	}
	if err := ss.registry.end(id, "session "+id+" has ended: it was deleted: make another"); err != nil {
		ss.Log.Error("a deleted session stays in the file", "session", id, "err", err) // it has ended, and the next process will notice that
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// endSessions ends the given sessions: those of an earlier process, or all on shutdown.
func (ss *Sessions) endSessions(ctx context.Context, ids []string, why string) error {
	var errs []error
	for _, id := range ids {
		switch err := ss.Config.Agent.DeleteSession(ctx, id); {
		case err == nil:
			ss.Log.Info("session ended", "session", id, "why", why)
		case !ended(err):
			errs = append(errs, err)
			continue
		default:
			ss.Log.Info("session had ended", "session", id, "why", why)
		}
		errs = append(errs, ss.registry.drop(id))
	}

	return errors.Join(errs...)
}

// EndAll ends all sessions, because the service stops.
func (ss *Sessions) EndAll(ctx context.Context) error {
	return ss.endSessions(ctx, ss.registry.list(), stoppingReason)
}

// EndBusy ends the sessions with execs when the grace period is over, which ends the execs. The agent then
// reports that in the exec's result. The state of the session is lost, and the caller gets the output and
// usage so far.
func (ss *Sessions) EndBusy(ctx context.Context) {
	var ends sync.WaitGroup
	for _, id := range ss.execs.Keys() {
		ends.Go(func() { // concurrently: a session whose volume is still being written delays no other
			if err := ss.endSessions(ctx, []string{id}, stoppingReason); err != nil {
				ss.Log.Error("session not ended", "session", id, "err", err)
			}
		})
	}
	ends.Wait()
}

const stoppingReason = "the service stops"

// Of returns the ids of a key's sessions.
func (ss *Sessions) Of(key string) []string { return ss.registry.ofOwner(key) }
