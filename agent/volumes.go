package agent

import (
	"net/http"

	"github.com/brig-sandbox/brig/api"
)

// volumes returns the volumes. If there are none, it answers the request itself and returns nil.
func (s *Server) volumes(w http.ResponseWriter, r *http.Request) Volumes {
	if s.cfg.Volumes == nil {
		s.refuse(w, r, api.Refuse(api.CodeNotFound, "this agent keeps no volumes"))
	}
	return s.cfg.Volumes
}

func (s *Server) listVolumes(w http.ResponseWriter, r *http.Request) {
	all := s.volumes(w, r)
	if all == nil {
		return
	}
	found, err := all.List(callerOf(r.Context()))
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	s.reply(w, http.StatusOK, nonNil(found))
}

func (s *Server) removeVolume(w http.ResponseWriter, r *http.Request) {
	all := s.volumes(w, r)
	if all == nil {
		return
	}
	if err := all.Remove(r.Context(), r.PathValue("name"), r.URL.Query().Get("run"), callerOf(r.Context())); err != nil {
		s.refuse(w, r, err)
		return
	}
	s.reply(w, http.StatusOK, struct{}{})
}
