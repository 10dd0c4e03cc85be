package core

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// An AgentStatus is the last known status of the agent. It is refreshed periodically, so that no
// request waits for data that changes seldom.
type AgentStatus struct {
	mu        sync.Mutex
	health    api.Health     // as last reported
	Languages []api.Language // guarded by mu
	err       error          // of the last refresh; nil: the agent answers
}

// refreshInterval is the interval between two refreshes.
const refreshInterval = 2 * time.Second

// RefreshAgent refreshes the status of the agent and the number of slots of the queue.
func (s *Core) RefreshAgent(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()

	health, err := s.Config.Agent.Health(ctx)
	var languages []api.Language
	if err == nil {
		languages, err = s.Config.Agent.Languages(ctx)
	}

	v := &s.Agent
	if err == nil {
		before, _, _ := v.Get()
		s.alertDamage(ctx, before.ImagesDamaged, health.ImagesDamaged)
	}

	v.mu.Lock()
	defer v.mu.Unlock()

	if (err == nil) != (v.err == nil) {
		s.Log.Info("agent", "reachable", err == nil, "err", err)
	}

	v.err = err
	if err == nil {
		v.health, v.Languages = health, languages
		s.Queue.Resize(max(health.Slots, 1))
		s.Queue.SetBackground(BatchSlots(max(health.Slots, 1), s.Config.BatchSlots))
		s.Metrics.Languages(languages)
	}
}

// alertDamage records an alert for each image that was found damaged since the last refresh.
func (s *Core) alertDamage(ctx context.Context, before, now []string) {
	for _, digest := range now {
		if slices.Contains(before, digest) {
			continue
		}
		a := api.Alert{Time: time.Now().UTC(), Kind: api.ImageDamage,
			Text: "files of the stored image " + digest +
				" are not as they were imported: its runs are refused until it is built or imported again (brig rootfs verify)"}
		s.Log.Error("an image is damaged", "image", digest)
		s.KeepAlert(ctx, a)
	}
}

// MarkUnreachable records that the agent did not answer a call, so that a health check reports it at once.
func (s *Core) MarkUnreachable(err error) {
	v := &s.Agent
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.err == nil {
		v.err = err
		s.Log.Info("agent", "reachable", false, "err", err)
	}
}

// RefreshAgentLoop refreshes the status until ctx is done.
func (s *Core) RefreshAgentLoop(ctx context.Context) {
	tick := time.NewTicker(refreshInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			s.RefreshAgent(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// ResolveAlias resolves the alias of a language to its name.
func (v *AgentStatus) ResolveAlias(name string) string {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, l := range v.Languages {
		if slices.Contains(l.Aliases, name) {
			return l.Name
		}
	}
	return name
}

// HasLanguage reports whether a language of this name exists.
func (v *AgentStatus) HasLanguage(name string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.ContainsFunc(v.Languages, func(l api.Language) bool { return l.Name == name })
}

// Get returns the last status, and the error of the last refresh.
func (v *AgentStatus) Get() (api.Health, []api.Language, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.health, v.Languages, v.err
}

// BatchSlots is how many of the slots jobs of batches may hold, where the operator allows maximum; zero: all but one.
func BatchSlots(slots, maximum int) int {
	if maximum == 0 {
		maximum = slots - 1
	}
	return max(1, min(maximum, slots))
}

// KeepAlert records an alert of the service itself.
func (s *Core) KeepAlert(ctx context.Context, a api.Alert) {
	if err := s.Config.History.AddAlert(ctx, a); err != nil {
		s.Log.Error("alert not kept", "kind", a.Kind, "err", err)
	}
}

// PackagesOf says how packages are installed for a language.
func (v *AgentStatus) PackagesOf(language string) (api.LanguagePackages, error) {
	v.mu.Lock()
	defer v.mu.Unlock()

	for _, l := range v.Languages {
		switch {
		case l.Name != language && !slices.Contains(l.Aliases, language):
		case l.Packages == nil:
			return api.LanguagePackages{},
				api.Refuse(api.CodeBadRequest,
					"packages cannot be installed for language %s: leave requirements out, or use an image that has "+
						"what the program needs", language)
		default:
			return *l.Packages, nil
		}
	}

	if len(v.Languages) == 0 {
		return api.LanguagePackages{},
			api.Fail(api.CodeAgentUnreachable, "the agent has not listed its languages yet: send the request again later")
	}

	return api.LanguagePackages{},
		api.Refuse(api.CodeNoLanguage, "there is no language %.80q: GET /v1/languages lists them", language)
}

// TierOf returns the tier of a language by its name or an alias; empty if there is none.
func (v *AgentStatus) TierOf(name string) string {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, l := range v.Languages {
		if name != "" && (l.Name == name || slices.Contains(l.Aliases, name)) {
			return l.Tier
		}
	}
	return ""
}

// KeepAudit records a change in the audit log.
func (s *Core) KeepAudit(ctx context.Context, e api.AuditEntry) {
	if err := s.Config.History.AddAudit(ctx, e); err != nil {
		s.Log.Error("change not kept in the audit log", "action", e.Action, "by", e.By, "subject", e.Subject, "err", err)
	}
}
