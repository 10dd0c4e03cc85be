// Package sessions answers requests for sessions, their execs and files, and for volumes.
package sessions

import (
	"context"
	"crypto/sha256"
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
	creations      *creations
	execs          *quota.Pool // execs of each session, by its id
	residents      *quota.Pool // residents of each session, by its id
	keyResidents   *quota.Pool // the same of each key
	processes      *processTable
	rings          *quota.Pool // memory of the output of processes, by key
	kernels        *kernelRegistry
	tokenKey       [sha256.Size]byte // of the tokens of sessions
}

// New makes the sessions of a service that has none yet, apart from those that an earlier process left.
func New(s *core.Core, pm *permits.Permits, i *packages.Installations, rs *runs.Runs) (ss *Sessions, err error) {
	ss = &Sessions{Core: s, permits: pm, installs: i, runs: rs, execs: newExecQuota(), residents: newResidentQuota(),
		keyResidents:   newKeyResidents(s),
		creations:      newCreations(s.Config.QueuePlaces),
		pendingVolumes: quota.New(quota.PerKey(1)), processes: newProcessTable(),
		rings: quota.New(quota.Shared(int64(s.Config.MaxAnswers) / ringsDivisor))}
	ss.kernels = newKernelRegistry(s.Config.Keys)
	ss.tokenKey = newTokenKey()
	if ss.registry, ss.stale, err = openRegistry(s.Config.Sessions); err != nil {
		return ss, err
	}
	ss.registry.gone = func(id string) {
		ss.processes.removeSession(id)
		ss.kernels.endOf(id)
	}
	return ss, nil
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
	s, err := ss.create(r.Context(), core.CallerOf(r.Context()), ask)
	if err != nil {
		return err
	}
	w.Header().Set("Location", "/v1/sessions/"+s.ID)
	ss.Reply(w, r, http.StatusCreated, s)
	return nil
}

// create makes a session for a caller, as far as its key may have it.
func (ss *Sessions) create(ctx context.Context, c core.Caller, ask api.SessionRequest) (s api.Session, err error) {
	if err := nameVolume(&ask, c); err != nil {
		return s, err
	}
	if err := ss.withSnapshot(ctx, &ask, c); err != nil {
		return s, err
	}
	if err := ask.Validate(); err != nil {
		return s, err
	}
	if ask, err = ss.permits.Session(c, ask); err != nil {
		return s, err
	}

	wanted := api.PackageRequest{Language: ask.Language, Requirements: ask.Requirements, Index: ask.Index}
	s, err = packages.With(ctx, ss.installs, c, wanted, func() (api.Session, error) { return ss.createSession(ctx, ask, c) })
	if err == nil {
		ss.Log.Info("session", "session", s.ID, "key", c.Name, "project", ask.Labels.Project, "task", ask.Labels.Task,
			"run_label", ask.Labels.Run)
	}
	return s, err
}

// reserve makes a reservation for a session. It waits for the quota of the key until wait ends; the error then is that
// of the quota. Sessions that have ended unnoticed do not count. It waits for a conflicting session that is still being
// created: the error then has its id, or, if its creation fails, the caller gets the reservation.
func (ss *Sessions) reserve(wait context.Context, reserved string, s sessionEntry, c core.Caller) error {
	for {
		if err := ss.creations.turns.Acquire(wait, c.Name, 1, 0); err != nil {
			return sessionsFullError("other sessions of this key wait for its limit, or for its part of what all keys have, " +
				"and this one behind them: end sessions, or send it again later")
		}
		resolved, err := ss.reserveInTurn(wait, reserved, s, c)
		ss.creations.turns.Release(c.Name, 1)
		if resolved == nil {
			return err
		}

		select {
		case <-resolved:
		case <-wait.Done():
			return err
		}
	}
}

// The pauses after which a reservation that waits looks for sessions that have ended by themselves.
const (
	minLookPause = time.Second
	maxLookPause = 8 * time.Second
)

// reserveInTurn is reserve while no other creation of the key tries. If the caller must wait for a conflicting session,
// it returns a channel that tells when.
func (ss *Sessions) reserveInTurn(wait context.Context, reserved string, s sessionEntry,
	c core.Caller) (resolved <-chan struct{}, err error) {
	health, _, _ := ss.Agent.Get()
	checkQuota := func(own, all sessionUsage) error {
		return checkSessionQuota(c, own, all, sessionUsage{1, s.memory},
			sessionUsage{health.SessionsMax, api.Size(health.MemoryMax)}, ss.Config.Keys.Multiple())
	}

	look, pause := true, minLookPause
	for {
		changed := ss.registry.awaitChange() // before the attempt: a change after it counts
		conflicts, resolved, err := ss.registry.reserve(reserved, s, checkQuota)
		if err == nil || resolved != nil {
			return resolved, err
		}

		gone := false
		for _, id := range conflicts {
			if look {
				_, lerr := ss.fetchSession(wait, id)
				gone = gone || ended(lerr)
			}
		}
		if gone {
			continue
		}

		var p *api.Problem
		if !errors.As(err, &p) || p.Code != api.CodeSessionsFull {
			return nil, err
		}
		select {
		case <-changed:
			look = false
		case <-time.After(pause):
			look, pause = true, min(2*pause, maxLookPause)
		case <-wait.Done():
			return nil, err
		}
	}
}

// getSessions lists the caller's sessions.
func (ss *Sessions) getSessions(w http.ResponseWriter, r *http.Request) error {
	all, err := ss.list(r.Context(), ss.Of(core.CallerOf(r.Context()).Name))
	if err != nil {
		return err
	}
	ss.Reply(w, r, http.StatusOK, api.Page[api.Session]{Items: all})
	return nil
}

// list returns those of some sessions that have not ended.
func (ss *Sessions) list(ctx context.Context, ids []string) ([]api.Session, error) {
	all := []api.Session{}
	for _, id := range ids {
		s, err := ss.fetchSession(ctx, id)
		switch {
		case ended(err):
		case err != nil:
			return nil, err
		default:
			all = append(all, s)
		}
	}
	return all, nil
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

// postLife changes when a session ends.
func (ss *Sessions) postLife(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	if _, err := ss.registry.find(core.CallerOf(r.Context()).Name, id); err != nil {
		return err
	}
	ask, err := readBodyAs[api.LifeRequest](ss, w, r, "life")
	if err != nil {
		return err
	}
	if err := ask.Validate(); err != nil {
		return err
	}

	s, err := ss.Config.Agent.SetLife(r.Context(), id, ask)
	if err := ss.forgetIfEnded(id, err); err != nil {
		return err
	}
	ss.Reply(w, r, http.StatusOK, ownersView(s))
	return nil
}

func (ss *Sessions) deleteSession(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	if _, err := ss.registry.find(core.CallerOf(r.Context()).Name, id); err != nil {
		return err
	}
	if err := ss.endOne(context.WithoutCancel(r.Context()), id); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// endOne ends a session for its owner. It is no error if it has ended.
func (ss *Sessions) endOne(ctx context.Context, id string) error {
	if err := ss.Config.Agent.DeleteSession(ctx, id); err != nil && !ended(err) {
		return err
	}
	if err := ss.registry.end(id, "session "+id+" has ended: it was deleted: make another"); err != nil {
		ss.Log.Error("a deleted session stays in the file", "session", id, "err", err) // it has ended, and the next process will notice that
	}
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
	ss.kernels.end()
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
