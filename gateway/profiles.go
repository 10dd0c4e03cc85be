package gateway

import (
	"fmt"
	"slices"
	"strings"

	"github.com/brig-sandbox/brig/api"
)

// keyProfiles are those every key may name, beside the own one of the language asked for.
var keyProfiles = []string{"strict", "default"}

// mayUseProfile refuses a profile that is wider than what the operator lets the key's
// holder ask for: a profile decides which parts of the kernel a stranger's program
// reaches. own is the tier of the language asked for, empty without one.
func (c caller) mayUseProfile(name string, mode api.ProfileMode, own string) error {
	if c.Name == "" { // without keys, everybody may do everything
		return nil
	}
	allowed := slices.Concat(keyProfiles, c.Profiles.List())
	if mode == api.Log && !c.ProfileLog {
		return problem(403, api.Refuse(api.CodeForbidden,
			"this key may not ask for profile_mode log, which lets a program do what its profile denies: leave it out, or have the operator set profile_log: true on the key %s", c.Name))
	}
	if name == "" || name == own || slices.Contains(allowed, name) {
		return nil
	}
	language := ""
	if own != "" && !slices.Contains(allowed, own) {
		language = fmt.Sprintf(", and %s, the language's own", own)
	}
	return problem(403, api.Refuse(api.CodeForbidden,
		"this key may not name the profile %.64q: it may name %s%s; leave profile out, or have the operator add it to profiles of the key %s", name, strings.Join(allowed, ", "), language, c.Name))
}

// tierOf gives the tier of a language by its name or an alias; empty where there is none.
func (v *agentView) tierOf(name string) string {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, l := range v.languages {
		if name != "" && (l.Name == name || slices.Contains(l.Aliases, name)) {
			return l.Tier
		}
	}
	return ""
}

// idleProfileLog names the keys with profile_log where the agent answers and lets only root
// ask for that: a permission without effect.
func (g *Gateway) idleProfileLog() (names []string) {
	if h, _, err := g.agent.get(); g.cfg.Keys == nil || err != nil || h.ProfileLog {
		return nil
	}
	for _, k := range g.cfg.Keys.list() {
		if k.ProfileLog {
			names = append(names, k.Name)
		}
	}
	return names
}
