package gateway

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/metrics"
)

// An agentView is what the gateway knows of its agent: asked now and then, so that
// no request waits for an answer that changes seldom.
type agentView struct {
	mu        sync.Mutex
	health    api.Health     // guarded by mu; as last told
	languages []api.Language // guarded by mu
	err       error          // guarded by mu; of the last question; nil: it answers
}

// lookEvery is the time between two questions.
const lookEvery = 2 * time.Second

// look asks the agent how it is, and gives its slots to the queue.
func (g *Gateway) look(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	health, err := g.cfg.Agent.Health(ctx)
	var languages []api.Language
	if err == nil {
		languages, err = g.cfg.Agent.Languages(ctx)
	}
	v := &g.agent
	v.mu.Lock()
	defer v.mu.Unlock()
	if (err == nil) != (v.err == nil) {
		g.log.Info("agent", "reachable", err == nil, "err", err)
	}
	v.err = err
	if err == nil {
		v.health, v.languages = health, languages
		g.queue.Resize(max(health.Slots, 1))
		g.metrics.Languages(languages)
	}
}

// missed notes that the agent did not answer a caller: whoever asks how the service is
// hears of it at once.
func (g *Gateway) missed(err error) {
	v := &g.agent
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.err == nil {
		v.err = err
		g.log.Info("agent", "reachable", false, "err", err)
	}
}

func (g *Gateway) keepLooking(ctx context.Context) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			g.look(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// now is what a scrape of the metrics sees.
func (g *Gateway) now(ctx context.Context) metrics.Now {
	n := metrics.Now{Queued: g.queue.Stats().Waiting, KeysUnread: g.cfg.Keys.unread()}
	if h, err := g.cfg.Agent.Health(ctx); err == nil {
		n.Agent = &h
	}
	return n
}

// language gives the name of a language that may be called by an alias.
func (v *agentView) language(name string) string {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, l := range v.languages {
		if slices.Contains(l.Aliases, name) {
			return l.Name
		}
	}
	return name
}

// knows reports whether there is a language of the name.
func (v *agentView) knows(name string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.ContainsFunc(v.languages, func(l api.Language) bool { return l.Name == name })
}

func (v *agentView) get() (api.Health, []api.Language, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.health, v.languages, v.err
}
