package service

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// An agentStatus is the last known status of the agent. It is refreshed periodically, so that no
// request waits for data that changes seldom.
type agentStatus struct {
	mu        sync.Mutex
	health    api.Health     // as last reported
	languages []api.Language // guarded by mu
	err       error          // of the last refresh; nil: the agent answers
}

// refreshInterval is the interval between two refreshes.
const refreshInterval = 2 * time.Second

// refreshAgent refreshes the status of the agent and the number of slots of the queue.
func (s *core) refreshAgent(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()

	health, err := s.cfg.Agent.Health(ctx)
	var languages []api.Language
	if err == nil {
		languages, err = s.cfg.Agent.Languages(ctx)
	}

	v := &s.agent
	if err == nil {
		before, _, _ := v.get()
		s.alertDamage(ctx, before.ImagesDamaged, health.ImagesDamaged)
	}

	v.mu.Lock()
	defer v.mu.Unlock()

	if (err == nil) != (v.err == nil) {
		s.log.Info("agent", "reachable", err == nil, "err", err)
	}

	v.err = err
	if err == nil {
		v.health, v.languages = health, languages
		s.queue.Resize(max(health.Slots, 1))
		s.queue.SetBackground(batchSlots(max(health.Slots, 1), s.cfg.BatchSlots))
		s.metrics.Languages(languages)
	}
}

// alertDamage records an alert for each image that was found damaged since the last refresh.
func (s *core) alertDamage(ctx context.Context, before, now []string) {
	for _, digest := range now {
		if slices.Contains(before, digest) {
			continue
		}
		a := api.Alert{Time: time.Now().UTC(), Kind: api.ImageDamage,
			Text: "files of the stored image " + digest +
				" are not as they were imported: its runs are refused until it is built or imported again (brig rootfs verify)"}
		s.log.Error("an image is damaged", "image", digest)
		s.keepAlert(ctx, a)
	}
}

// markUnreachable records that the agent did not answer a call, so that a health check reports it at once.
func (s *core) markUnreachable(err error) {
	v := &s.agent
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.err == nil {
		v.err = err
		s.log.Info("agent", "reachable", false, "err", err)
	}
}

func (s *core) refreshAgentLoop(ctx context.Context) {
	tick := time.NewTicker(refreshInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			s.refreshAgent(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// resolveAlias resolves the alias of a language to its name.
func (v *agentStatus) resolveAlias(name string) string {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, l := range v.languages {
		if slices.Contains(l.Aliases, name) {
			return l.Name
		}
	}
	return name
}

// hasLanguage reports whether a language of this name exists.
func (v *agentStatus) hasLanguage(name string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.ContainsFunc(v.languages, func(l api.Language) bool { return l.Name == name })
}

func (v *agentStatus) get() (api.Health, []api.Language, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.health, v.languages, v.err
}

func batchSlots(slots, most int) int {
	if most == 0 {
		most = slots - 1
	}
	return max(1, min(most, slots))
}

// keepAlert records an alert of the service itself.
func (s *core) keepAlert(ctx context.Context, a api.Alert) {
	if err := s.cfg.History.AddAlert(ctx, a); err != nil {
		s.log.Error("alert not kept", "kind", a.Kind, "err", err)
	}
}

// packagesOf says how packages are installed for a language.
func (v *agentStatus) packagesOf(language string) (api.LanguagePackages, error) {
	v.mu.Lock()
	defer v.mu.Unlock()

	for _, l := range v.languages {
		switch {
		case l.Name != language && !slices.Contains(l.Aliases, language):
		case l.Packages == nil:
			return api.LanguagePackages{},
				api.Refuse(api.CodeBadRequest,
					"packages cannot be installed for language %s: leave requirements out, or use an image that has what the program needs", language)
		default:
			return *l.Packages, nil
		}
	}

	if len(v.languages) == 0 {
		return api.LanguagePackages{},
			api.Fail(api.CodeAgentUnreachable, "the agent has not listed its languages yet: send the request again later")
	}

	return api.LanguagePackages{},
		api.Refuse(api.CodeNoLanguage, "there is no language %.80q: GET /v1/languages lists them", language)
}

// tierOf returns the tier of a language by its name or an alias; empty if there is none.
func (v *agentStatus) tierOf(name string) string {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, l := range v.languages {
		if name != "" && (l.Name == name || slices.Contains(l.Aliases, name)) {
			return l.Tier
		}
	}
	return ""
}
