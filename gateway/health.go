package gateway

import (
	"net/http"
	"time"

	"github.com/brig-sandbox/brig/api"
)

func (g *Gateway) health() api.ServiceHealth {
	s := g.queue.Stats()
	a, _, err := g.agent.get()
	h := api.ServiceHealth{
		Status: api.ServiceOK, Version: g.cfg.Version, Capacity: s.Turns, Load: s.Had, Queued: s.Waiting, Places: s.Most,
		UptimeNS: int64(time.Since(g.began)), MemoryMax: int64(g.cfg.MaxMemory()),
		Agent: api.AgentHealth{
			Reachable: err == nil, Version: a.Version, Leased: a.Leased, Cells: a.Cells,
			Memory: a.Memory, MemoryMax: a.MemoryMax, Kernel: a.Kernel, CgroupMode: a.CgroupMode,
		},
	}
	switch {
	case g.stopping.Err() != nil:
		h.Status = api.ServiceStopping
	case err != nil:
		h.Status = api.ServiceDegraded
	}
	return h
}

// A healthWord is all of it that a stranger is told: what runs here, and how much of it,
// is for those who may use it.
type healthWord struct {
	Status api.ServiceStatus `json:"status" doc:"ok, degraded (the agent does not answer), or stopping"`
}

// getHealth is for people and dashboards: it answers whatever the state is.
func (g *Gateway) getHealth(w http.ResponseWriter, r *http.Request) error {
	h := g.health()
	if g.cfg.Keys != nil && r.Header.Get("Authorization") == "" {
		g.reply(w, r, http.StatusOK, healthWord{h.Status})
		return nil
	}
	known, err := g.withCaller(r)
	if err != nil {
		return err
	}
	if since := g.cfg.Keys.unread(); !since.IsZero() && callerOf(known.Context()).mayAll() {
		h.KeysUnread = &since
	}
	g.reply(w, r, http.StatusOK, h)
	return nil
}

// live says that the process answers: restart it if it does not.
func (g *Gateway) live(w http.ResponseWriter, r *http.Request) error {
	g.reply(w, r, http.StatusOK, healthWord{api.ServiceOK})
	return nil
}

// ready says whether runs are taken: send them elsewhere if not.
func (g *Gateway) ready(w http.ResponseWriter, r *http.Request) error {
	status := http.StatusOK
	h := g.health()
	if h.Status != api.ServiceOK {
		status = http.StatusServiceUnavailable
	}
	g.reply(w, r, status, healthWord{h.Status})
	return nil
}

// getMetrics answers a scrape. Counters are of everybody's runs.
func (g *Gateway) getMetrics(w http.ResponseWriter, r *http.Request) error {
	if !callerOf(r.Context()).mayAll() {
		return api.Refuse(api.CodeForbidden, "metrics are of every key's runs, and this key may not see them: have the operator set admin on it")
	}
	inTime(w)
	g.metrics.ServeHTTP(w, r)
	return nil
}
