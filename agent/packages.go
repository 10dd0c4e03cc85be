package agent

import (
	"context"
	"net/http"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/api/decode"
)

// maxPackageRequest is the most bytes of a request for packages.
const maxPackageRequest = 64 * api.KiB

// packages returns the agent's Packages. If the agent has none, it refuses the request and returns nil.
func (s *Server) packages(w http.ResponseWriter, r *http.Request) Packages {
	if s.cfg.Packages == nil {
		s.refuse(w, r, api.Refuse(api.CodeNotFound, "this agent installs no packages"))
	}
	return s.cfg.Packages
}

// installPackages answers POST /v1/packages. In the streamed form the result of a run stands for the
// installation: its packages field has the set. In the plain form a set that is stored is the answer, and
// any other is packages-missing: the caller has to relay the installer's connections.
func (s *Server) installPackages(w http.ResponseWriter, r *http.Request) {
	all := s.packages(w, r)
	if all == nil {
		return
	}

	r.Body = http.MaxBytesReader(w, r.Body, int64(maxPackageRequest))
	request, err := parse(s, w, r, "request",
		func(raw []byte) (api.PackageRequest, error) { return decode.Value[api.PackageRequest](raw, "request") })
	if err == nil {
		err = request.Validate()
	}
	if err != nil {
		s.refuse(w, r, bodyError(err, "request", maxPackageRequest))
		return
	}

	if r.Header.Get("Upgrade") == "" {
		set, err := all.Install(r.Context(), request, api.Streams{}, callerOf(r.Context()))
		if err != nil {
			s.refuse(w, r, err)
			return
		}
		s.reply(w, http.StatusOK, set)
		return
	}

	s.runStreamed(w, r, 0, func(ctx context.Context, io api.Streams, c api.Caller) (api.Result, error) {
		set, err := all.Install(ctx, request, io, c)
		return api.Result{Verdict: api.OK, Stage: api.StageRun, Packages: &set}, err
	})
}

func (s *Server) listPackages(w http.ResponseWriter, r *http.Request) {
	all := s.packages(w, r)
	if all == nil {
		return
	}
	sets, err := all.List(callerOf(r.Context()), reservationOf(r.Context()).Keep)
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	s.reply(w, http.StatusOK, nonNil(sets))
}

func (s *Server) removePackages(w http.ResponseWriter, r *http.Request) {
	all := s.packages(w, r)
	if all == nil {
		return
	}
	if err := all.Remove(r.PathValue("key"), callerOf(r.Context())); err != nil {
		s.refuse(w, r, err)
		return
	}
	s.reply(w, http.StatusOK, struct{}{})
}
