package sessions

import (
	"context"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/core"
)

// ListOf lists the sessions of a caller: those of a project or, if it is empty, all.
func (ss *Sessions) ListOf(ctx context.Context, c core.Caller, project string) ([]api.Session, error) {
	return ss.list(ctx, ss.registry.ofProject(c.Name, project))
}

// Named returns the id of a caller's session. In a project its name may also be its task. An empty project stands for
// all. What another key has under a name does not exist (TestSessionsAreNamed).
func (ss *Sessions) Named(c core.Caller, project, name string) (string, error) {
	_, id, err := ss.registry.named(c.Name, project, name)
	return id, err
}

// Session returns a session of the caller, by its id.
func (ss *Sessions) Session(ctx context.Context, id string) (api.Session, error) {
	if _, err := ss.registry.find(core.CallerOf(ctx).Name, id); err != nil {
		return api.Session{}, err
	}
	return ss.fetchSession(ctx, id)
}

// ofProject returns the ids of an owner's sessions of a project; empty: of all.
func (r *sessionRegistry) ofProject(owner, project string) []string {
	return r.ids(func(s sessionEntry) bool { return s.owner == owner && (project == "" || s.labels.Project == project) })
}

// named finds a session as Named does.
func (r *sessionRegistry) named(owner, project, name string) (s sessionEntry, id string, err error) {
	s, err = r.find(owner, name)
	if err == nil && (project == "" || s.labels.Project == project) {
		return s, name, nil
	}

	if project != "" && name != "" {
		ids := r.ids(func(s sessionEntry) bool {
			return s.owner == owner && s.labels.Project == project && s.labels.Task == name
		})
		if len(ids) > 0 { // at most one: see samePlace
			s, err = r.find(owner, ids[0])
			return s, ids[0], err
		}
	}
	if err == nil {
		err = api.Refuse(api.CodeNotFound, "there is no session %.80q in project %.80q", name, project)
	}
	return sessionEntry{}, "", err
}
