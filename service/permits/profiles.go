package permits

import (
	"fmt"
	"slices"
	"strings"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/core"
)

// keyProfiles are the profiles that every key may name, in addition to that of the requested
// language.
var keyProfiles = []string{"strict", "default"}

// mayUseProfile refuses a profile that is wider than what the operator allows the key: a profile
// decides which parts of the kernel an untrusted program reaches. own is the tier of the requested
// language, empty without one.
func mayUseProfile(c core.Caller, name string, mode api.ProfileMode, own string) error {
	if c.Name == "" { // without keys, every caller may do everything
		return nil
	}

	allowed := slices.Concat(keyProfiles, c.Profiles.List())
	if mode == api.Log && !c.ProfileLog {
		return core.Problem(403, api.Refuse(api.CodeForbidden,
			"this key may not ask for profile_mode log, which lets a program do what its profile denies: leave it "+
				"out, or have the operator set profile_log: true on the key %s", c.Name))
	}
	if name == "" || name == own || slices.Contains(allowed, name) {
		return nil
	}

	language := ""
	if own != "" && !slices.Contains(allowed, own) {
		language = fmt.Sprintf(", and %s, the profile of the language", own)
	}

	return core.Problem(403, api.Refuse(api.CodeForbidden,
		"this key may not name the profile %.64q: it may name %s%s; leave profile out, or have the operator add it "+
			"to profiles of the key %s", name, strings.Join(allowed, ", "), language, c.Name))
}

// mayOwnImage refuses sessions that own their image to keys without the permission.
func mayOwnImage(c core.Caller, own bool) error {
	if !own || c.Name == "" || c.OwnImage {
		return nil
	}
	return core.Problem(403, api.Refuse(api.CodeForbidden,
		"this key may not ask for own_image, in which programs see themselves as root: use writable_root, or have the "+
			"operator set own_image: true on the key %s", c.Name))
}

// UselessProfileLog returns the names of keys with profile_log if the agent answers and allows that
// only root: the permission has no effect then.
func (pm *Permits) UselessProfileLog() (names []string) {
	if h, _, err := pm.Agent.Get(); pm.Config.Keys == nil || err != nil || h.ProfileLog {
		return nil
	}
	for _, k := range pm.Config.Keys.List() {
		if k.ProfileLog {
			names = append(names, k.Name)
		}
	}
	return names
}
