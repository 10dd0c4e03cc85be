package service

import (
	"context"
	"net/http"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/core"
	"github.com/brig-sandbox/brig/service/metrics"
)

func (g *Gateway) health() api.ServiceHealth {
	s := g.core.Queue.Stats()
	a, _, err := g.core.Agent.Get()
	h := api.ServiceHealth{
		Status: api.ServiceOK, Version: g.core.Config.Version, Capacity: s.Slots, Load: s.Held, Queued: s.Waiting,
		QueueMax: s.MaxWaiting,
		UptimeNS: int64(time.Since(g.core.StartedAt)), MemoryMax: int64(g.MaxMemory() + g.problems.ReaderMemory()),
		Agent: api.AgentHealth{
			Reachable: err == nil, Version: a.Version, Leased: a.Leased, Cells: a.Cells,
			Memory: a.Memory, MemoryMax: a.MemoryMax, Kernel: a.Kernel, CgroupMode: a.CgroupMode,
		},
	}

	switch {
	case g.core.Stopping.Err() != nil:
		h.Status = api.ServiceStopping
	case err != nil:
		h.Status = api.ServiceDegraded
	}

	if err := g.core.Config.History.Health(); err != nil && h.Status != api.ServiceStopping {
		h.Status, h.HistoryError = api.ServiceDegraded, err.Error()
	}
	return h
}

// A healthWord is the health that a client without a key gets: details of the service are for its
// users.
type healthWord struct {
	Status api.ServiceStatus `json:"status" doc:"ok, degraded (the agent does not answer, or the history cannot be written), or stopping"`
}

// getHealth is for people and dashboards: it succeeds in every state of the service.
func (g *Gateway) getHealth(w http.ResponseWriter, r *http.Request) error {
	h := g.health()
	if _, err := r.Cookie(core.LoginCookie); g.core.Config.Keys != nil && r.Header.Get("Authorization") == "" && err != nil {
		g.core.Reply(w, r, http.StatusOK, healthWord{h.Status})
		return nil
	}

	known, err := g.core.AuthenticateAPI(r)
	if err != nil {
		return err
	}
	if since := g.core.Config.Keys.Unread(); !since.IsZero() && core.CallerOf(known.Context()).SeesAll() {
		h.KeysUnread = &since
	}

	g.core.Reply(w, r, http.StatusOK, h)
	return nil
}

// live answers whether the process responds: restart it if it does not.
func (g *Gateway) live(w http.ResponseWriter, r *http.Request) error {
	g.core.Reply(w, r, http.StatusOK, healthWord{api.ServiceOK})
	return nil
}

// ready answers whether the service takes runs: send them elsewhere if not.
func (g *Gateway) ready(w http.ResponseWriter, r *http.Request) error {
	status := http.StatusOK
	h := g.health()
	if h.Status != api.ServiceOK {
		status = http.StatusServiceUnavailable
	}
	g.core.Reply(w, r, status, healthWord{h.Status})
	return nil
}

// getMetrics answers a scrape. The counters include the runs of all keys.
func (g *Gateway) getMetrics(w http.ResponseWriter, r *http.Request) error {
	if !core.CallerOf(r.Context()).SeesAll() {
		return api.Refuse(api.CodeForbidden,
			"metrics cover the runs of all keys, and this key may not read them: have the operator set admin on it")
	}
	core.SetWriteDeadline(w)
	g.core.Metrics.ServeHTTP(w, r)
	return nil
}

// metricsNow returns the current values for a scrape of the metrics.
func (g *Gateway) metricsNow(ctx context.Context) metrics.Snapshot {
	n := metrics.Snapshot{Queued: g.core.Queue.Stats().Waiting, KeysUnread: g.core.Config.Keys.Unread()}
	if batches := g.batches.Store; batches != nil {
		load := batches.Load()
		n.JobsLeft, n.Batches, n.BatchBytes = load.Left, load.Unended, load.Bytes
	}
	if h, err := g.core.Config.Agent.Health(ctx); err == nil {
		n.Agent = &h
	}
	return n
}

func (g *Gateway) getLanguages(w http.ResponseWriter, r *http.Request) error {
	_, languages, err := g.core.Agent.Get()
	if languages == nil && err != nil {
		return err
	}
	g.core.Reply(w, r, http.StatusOK, append([]api.Language{}, languages...))
	return nil
}
