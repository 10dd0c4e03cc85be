package service

import (
	"context"
	"slices"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// packages refuses packages that the operator does not offer, or not to the key. It returns the
// index, which the operator chooses: the service itself reaches it, and keys share what is installed.
// While a language is unknown, so is the index of its kind, and the public index would answer for the
// operator's own (TestPackagesOfAnUnknownLanguage).
func (pm *permits) packages(c caller, language string, requirements []string, index string) (string, error) {
	if len(requirements) == 0 {
		return "", nil
	}

	about, err := pm.agent.packagesOf(language)
	own := pm.cfg.Indexes[about.Kind]
	switch {
	case !pm.cfg.offersPackages(), err == nil && !pm.cfg.Packages && own == "":
		return "", api.Refuse(api.CodeUnsupported,
			"requirements: this service installs no packages: use an image that has them, such as language python-full, or have the operator offer it (brig serve --packages)")
	case pm.cfg.Keys != nil && !c.Packages:
		return "", api.Refuse(api.CodeForbidden,
			"requirements: this key may not have packages installed: leave them out, or have the operator set packages: true on the key %s", c.Name)
	case index != "":
		return "", api.Refuse(api.CodeForbidden, "index: the operator of the service chooses the index: leave it out")
	case err != nil:
		return "", err
	}

	_, err = api.ParseRequirements(about.Kind, requirements) // an error in a requirement costs no slot
	return own, err
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

// packageTries is how often a request has packages installed: others may remove them in between.
const packageTries = 3

// withPackages has do send a request that may need packages. If they are missing, it has them installed,
// which takes a slot of its own meanwhile, and has do send the request again.
func withPackages[T any](ctx context.Context, i *installations, c caller, r api.PackageRequest,
	do func() (T, error)) (T, error) {
	for try := 1; ; try++ {
		res, err := do()
		if !api.HasCode(err, api.CodePackagesMissing) || try == packageTries {
			return res, err
		}
		if err := i.ensure(ctx, c, r); err != nil {
			return res, err
		}
	}
}

// runWithPackages waits for a slot and has the agent execute a request, whose packages it has installed
// if they are missing.
func (rs *runs) runWithPackages(ctx context.Context,
	o *runRequest) (res api.Result, waited time.Duration, err error) {
	r := api.PackageRequest{Language: o.run.Language, Requirements: o.run.Requirements, Index: o.run.Index}
	res, err = withPackages(ctx, rs.installs, o.caller, r, func() (res api.Result, err error) {
		wait, stopWaiting := rs.slotWait(ctx, o)
		defer stopWaiting()
		res, waited, err = rs.withSlot(ctx, wait, o)
		return res, err
	})
	res.Packages = packagesView(res.Packages)
	return res, waited, err
}

// packagesView returns a set of packages as a key may see it; nil: there is none. All keys share the
// sets: none learns when others had packages installed or used them, nor the address of the operator's
// own index (TestKeysDoNotLearnWhenOthersUsePackages).
func packagesView(s *api.PackageSet) *api.PackageSet {
	if s == nil {
		return nil
	}
	v := *s
	v.Index, v.Owner, v.Created, v.Used = "", 0, "", ""
	return &v
}

// validPackages refuses an index that is none.
func (c Config) validPackages() error {
	for _, index := range c.Indexes {
		if _, err := api.ParseIndex(index); err != nil {
			return err
		}
	}
	return nil
}

// offersPackages reports whether the service has packages of any kind installed.
func (c Config) offersPackages() bool { return c.Packages || len(c.Indexes) > 0 }

// unofferedPackages reports whether the agent answers and installs packages for root alone.
func (pm *permits) unofferedPackages() bool {
	h, _, err := pm.agent.get()
	return pm.cfg.offersPackages() && err == nil && !h.Packages
}
