package service

import (
	"net/http"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/core"
	"github.com/brig-sandbox/brig/service/dialect"
)

// tellSessions answers a request that asks for sessions of its key, or executes a command in one of them.
func (h *dialectHandler) tellSessions(w http.ResponseWriter, r *http.Request, plan dialect.Plan) error {
	ask, c := plan.Sessions, core.CallerOf(r.Context())
	if ask.Name == "" {
		all, err := h.sessions.ListOf(r.Context(), c, ask.Project)
		if err != nil {
			return err
		}
		return h.send(w, r, plan, ask.Tell(all), "")
	}

	id, err := h.sessions.Named(c, ask.Project, ask.Name)
	if err != nil {
		return err
	}
	if ask.Exec {
		return h.sessions.ExecSocket(w, r.WithContext(core.WithDialect(r.Context(), h.Name)), id)
	}

	s, err := h.sessions.Session(r.Context(), id)
	if err != nil {
		return err
	}
	return h.send(w, r, plan, ask.Tell([]api.Session{s}), "")
}
