package gateway

import (
	"net/http"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// Health tells how the service is.
type Health struct {
	Status   string `json:"status"` // ok, degraded (the agent does not answer), or stopping
	Version  string `json:"version"`
	Capacity int    `json:"capacity"` // runs at a time
	Load     int    `json:"load"`     // of them under way for this service
	Queued   int    `json:"queued"`   // waiting
	Places   int    `json:"queue_places"`
	UptimeNS int64  `json:"uptime_ns"`
	Agent    Agent  `json:"agent"`

	KeysUnread *time.Time `json:"keys_unread_since,omitempty"` // told to admins: those in force may not be those of the file
}

// Agent tells of the process that runs the programs.
type Agent struct {
	Reachable  bool   `json:"reachable"`
	Version    string `json:"version,omitempty"`
	Leased     int    `json:"leased"` // slots taken, by others too
	Cells      int    `json:"cells"`
	Memory     int64  `json:"memory_committed_bytes"`
	MemoryMax  int64  `json:"memory_ceiling_bytes"`
	Kernel     string `json:"kernel,omitempty"`
	CgroupMode string `json:"cgroup_mode,omitempty"`
}

func (g *Gateway) health() Health {
	s := g.queue.Stats()
	a, _, err := g.agent.get()
	h := Health{
		Status: "ok", Version: g.cfg.Version, Capacity: s.Turns, Load: s.Had, Queued: s.Waiting, Places: s.Most,
		UptimeNS: int64(time.Since(g.began)),
		Agent: Agent{
			Reachable: err == nil, Version: a.Version, Leased: a.Leased, Cells: a.Cells,
			Memory: a.Memory, MemoryMax: a.MemoryMax, Kernel: a.Kernel, CgroupMode: a.CgroupMode,
		},
	}
	switch {
	case g.stopping.Err() != nil:
		h.Status = "stopping"
	case err != nil:
		h.Status = "degraded"
	}
	return h
}

// A healthWord is all of it that a stranger is told: what runs here, and how much of it,
// is for those who may use it.
type healthWord struct {
	Status string `json:"status"`
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
	g.reply(w, r, http.StatusOK, healthWord{"ok"})
	return nil
}

// ready says whether runs are taken: send them elsewhere if not.
func (g *Gateway) ready(w http.ResponseWriter, r *http.Request) error {
	status := http.StatusOK
	h := g.health()
	if h.Status != "ok" {
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
