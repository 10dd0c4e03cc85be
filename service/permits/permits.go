// Package permits decides what a key may ask for: limits, profiles, networks and packages.
package permits

import (
	"cmp"
	"slices"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/core"
)

// Permits say what a key may ask for, of what the service and its agent offer.
type Permits struct{ *core.Core }

// A limitedSettings has the settings of runs and sessions that a key limits.
type limitedSettings struct {
	language, profile, preset string
	profileMode               api.ProfileMode
	network                   string
	limits                    *api.Limits
}

// permit checks a wish against the limits of its caller: more is refused, and unset limits become
// at most what the key allows.
func (pm *Permits) permit(c core.Caller, w limitedSettings) error {
	profile := w.profile
	if profile == networkProfile && !api.NetworkWithin(w.network, api.NetworkNone) {
		profile = "" // it comes with the network
	}
	if err := mayUseProfile(c, profile, w.profileMode, pm.Agent.TierOf(w.language)); err != nil {
		return err
	}
	l, err := Limit(c, *w.limits, w.preset, c.SeesAll())
	if err == nil {
		*w.limits = l
	}
	return err
}

// Run is permit for a run and all its stages. A run that names no mode gets the key's mode.
func (pm *Permits) Run(c core.Caller, r api.Run) (api.Run, error) {
	r.Mode = cmp.Or(r.Mode, c.Mode)
	if err := pm.Network(c, r); err != nil {
		return r, err
	}

	var err error
	if r.Index, err = pm.packages(c, r.Language, r.Requirements, r.Index); err != nil {
		return r, err
	}

	err = pm.permit(c, limitedSettings{r.Language, r.Profile, r.Preset, r.ProfileMode, r.Network, &r.Limits})
	if err != nil {
		return r, err
	}
	if r.Source != nil && pm.compiles(r.Language) || r.CompileLimits != (api.Limits{}) {
		if r.CompileLimits, err = Limit(c, r.CompileLimits, "", c.SeesAll()); err != nil {
			return r, err
		}
	}

	if err := pm.freeFlags(c, r); err != nil {
		return r, err
	}

	for _, t := range r.Tests { // unset limits are those of the run
		if _, err := Limit(c, t.Limits, "", c.SeesAll()); err != nil {
			return r, err
		}
	}

	if r.Check != nil {
		check := *r.Check
		r.Check = &check
		if check.Program, err = pm.program(c, check.Program); err != nil {
			return r, api.About("check", err)
		}
	}
	if r.Interactor != nil {
		interactor := *r.Interactor
		r.Interactor = &interactor
		if interactor.Program, err = pm.program(c, interactor.Program); err != nil {
			return r, api.About("interactor", err)
		}
	}

	return r, nil
}

// freeFlags refuses free flags of a compiler whose profile the key may not name: with them it may execute any program
// of the caller under that profile (CMP-21). Those of an interpreter are for the run, whose profile is checked.
func (pm *Permits) freeFlags(c core.Caller, r api.Run) error {
	if len(r.FreeFlags.Compile)+len(r.FreeFlags.Link) == 0 {
		return nil
	}

	_, languages, err := pm.Agent.Get()
	if err != nil {
		return err
	}

	i := slices.IndexFunc(languages, func(l api.Language) bool { return l.Name == r.Language })
	if i < 0 || mayUseProfile(c, languages[i].CompileTier, "", "") == nil {
		return nil
	}
	return api.Refuse(api.CodeForbidden,
		"free_flags: with them the compiler of %.64q may execute programs of yours under its profile %s, which this key may "+
			"not name: use flags, or have the operator add it to profiles of the key %s",
		r.Language, languages[i].CompileTier, c.Name)
}

// program is permit for what judges a run. Its mode is that of the run.
func (pm *Permits) program(c core.Caller, p api.Program) (api.Program, error) {
	p.Language = pm.Agent.ResolveAlias(p.Language)
	err := pm.permit(c, limitedSettings{language: p.Language, limits: &p.Limits})
	if err == nil && (p.Source != nil && pm.compiles(p.Language) || p.CompileLimits != (api.Limits{})) {
		p.CompileLimits, err = Limit(c, p.CompileLimits, "", c.SeesAll())
	}
	return p, err
}

// Session is permit for a session.
func (pm *Permits) Session(c core.Caller, s api.SessionRequest) (api.SessionRequest, error) {
	if err := mayOwnImage(c, s.OwnImage); err != nil {
		return s, err
	}

	var err error
	if s.Index, err = pm.packages(c, s.Language, s.Requirements, s.Index); err != nil {
		return s, err
	}
	return s, pm.permit(c, limitedSettings{s.Language, s.Profile, s.Preset, s.ProfileMode, s.Network, &s.Limits})
}

// Limit returns limits within those of a key, for a run or a session. The defaults apply to unset
// limits; the operator is responsible for limits in a manifest.
func Limit(c core.Caller, l api.Limits, preset string, mayAll bool) (api.Limits, error) {
	base, err := api.Preset(preset)
	if err != nil {
		return l, err
	}

	unasked := base.Over(api.Defaults())
	switch weight := int64(c.Weight); {
	case l.Cpuset != "" && !mayAll:
		return l, api.Refuse(api.CodeForbidden,
			"limit cpuset is %q, and this key may not name processors: leave it out, or have the operator set admin on the key",
			l.Cpuset)
	case weight > 0 && l.Weight > weight:
		return l, api.Refuse(api.CodeAboveCeiling,
			"limit weight is %d, above this key's %d: ask for less, or have the operator raise it (weight in the keys file)",
			l.Weight, weight)
	case c.CPUs > 0 && l.CPUs > c.CPUs:
		return l, api.Refuse(api.CodeAboveCeiling,
			"limit cpus is %v, above this key's %v: ask for less, or have the operator raise it (cpus in the keys file)", l.CPUs,
			c.CPUs)
	case weight > 0 && l.Weight == 0 && unasked.Weight > weight:
		l.Weight = weight
	}

	if c.CPUs > 0 && l.CPUs == 0 && unasked.CPUs > c.CPUs {
		l.CPUs = c.CPUs
	}
	return l, nil
}

// compiles reports whether a language has a compile stage.
func (pm *Permits) compiles(language string) bool {
	_, languages, _ := pm.Agent.Get()
	i := slices.IndexFunc(languages, func(l api.Language) bool { return l.Name == language })
	return i >= 0 && languages[i].CompileTier != ""
}
