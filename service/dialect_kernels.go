package service

import (
	"net/http"
	"strings"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/core"
	"github.com/brig-sandbox/brig/service/dialect"
)

// withToken is a request whose key is where brig looks for it: clients of Jupyter send Authorization: token KEY, or the
// parameter token.
func withToken(r *http.Request) *http.Request {
	scheme, key, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "token") {
		key = r.URL.Query().Get("token")
		if key == "" || r.Header.Get("Authorization") != "" {
			return r
		}
	}
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+key)
	return r
}

// tellKernels does what a request asks for with kernels of its key, and tells them.
func (h *dialectHandler) tellKernels(w http.ResponseWriter, r *http.Request, plan dialect.Plan) error {
	ask, c := plan.Kernels, core.CallerOf(r.Context())
	r = r.WithContext(core.WithDialect(r.Context(), h.Name))
	switch ask.Do {
	case dialect.ListKernels:
		return h.send(w, r, plan, ask.Tell(h.sessions.KernelsOf(c)), "")
	case dialect.StartKernel:
		made, err := h.sessions.StartKernel(r, ask.Session, ask.Start)
		if err != nil {
			return err
		}
		return h.send(w, r, plan, ask.Tell([]api.Kernel{made}), "")
	}

	k, err := h.sessions.Kernel(c, ask.ID)
	if err != nil {
		return err
	}
	switch ask.Do {
	case dialect.KernelChannels:
		return h.serveChannels(w, r, k)
	case dialect.InterruptKernel:
		err = h.sessions.InterruptKernel(c, ask.ID)
	case dialect.DeleteKernel:
		err = h.sessions.EndKernel(r.Context(), c, ask.ID)
	case dialect.RestartKernel:
		if err = h.sessions.RestartKernel(r, ask.ID); err == nil {
			k, err = h.sessions.Kernel(c, ask.ID)
		}
	}
	if err != nil {
		return err
	}
	return h.send(w, r, plan, ask.Tell([]api.Kernel{k}), "")
}
