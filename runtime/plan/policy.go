package plan

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/seccomp"
)

// A Policy is a profile in a mode, with what brig must know about it. It is immutable.
type Policy struct {
	Name           string          // of the profile
	Hash           string          // of the profile and the mode
	Profile        seccomp.Profile // with the rules that count locks, and for a writable root lists of names
	Mode           api.ProfileMode
	ReachesKeyring bool // a run can reach its user's persistent keyring, which nothing seals
	UsesInotify    bool // a run can watch files with inotify
	Terminal       bool // a run can set the modes of a terminal
	OwnsImage      bool // cellinit may make the user namespace of programs that own their image
	HidesFiles     bool // a run can keep open files where they cannot be counted: in messages, in asynchronous reads
}

// NewPolicy examines a profile, for cells whose root is an overlay that the program can write to, or
// others.
func NewPolicy(p seccomp.Profile, mode api.ProfileMode, writableRoot bool) *Policy {
	p = seccomp.CountLocks(p)
	if writableRoot {
		p = seccomp.CountListings(p)
	}

	all := mode == api.Log
	f := &Policy{
		Name: p.Name, Mode: mode, Profile: p, Hash: seccomp.Hash(p),
		ReachesKeyring: !all && allowsAny(p, "keyctl", "add_key", "request_key"),
		Terminal:       all || seccomp.AllowsTerminal(p),
		UsesInotify:    all || allowsAny(p, "inotify_init", "inotify_init1"),
		HidesFiles:     all || allowsAny(p, "sendmsg", "sendmmsg", "io_submit", "io_uring_setup"),
	}

	if all {
		f.Hash += "+log"
	}
	if p.OwnsImage {
		f.OwnsImage = true
		f.Hash += "+own-image"
	}
	return f
}

// DefaultPolicy returns the policy of runs under DefaultTier that request nothing that changes it. It is made once:
// the agent makes it while it starts, and the first run finds it.
var DefaultPolicy = sync.OnceValues(func() (*Policy, error) {
	tier, err := seccomp.Tier(DefaultTier)
	if err != nil {
		return nil, err
	}
	return NewPolicy(tier, api.Enforce, false), nil
})

// ownImagePolicy returns a policy of writable roots for programs that own their image. custom: the profile came with
// the request.
func (pl *Planner) ownImagePolicy(f *Policy, custom bool) (*Policy, error) {
	_, own := pl.Profiles[f.Name]
	builtIn := !own && !custom && slices.Contains(seccomp.Tiers(), f.Name)
	return pl.cachedPolicy(policyKey{profile: f.Hash, mode: f.Mode, writableRoot: true, ownsImage: true},
		func() (seccomp.Profile, error) { return seccomp.OwnImage(f.Profile, builtIn), nil })
}

// policy finds the profile of a run; tier is its language's. Only the tiers and the profiles that the
// operator listed are available by name. A profile of the caller's own is for root, which could as
// well have listed it.
func (pl *Planner) policy(r api.Run, tier string, caller api.Caller) (*Policy, error) {
	name := r.Profile
	if name == "" && r.Network != "" && r.Network != api.NetworkNone {
		name = NetworkTier
	}
	if name == "" {
		name = tier
	}
	if name == "" {
		name = DefaultTier
	}

	mode := r.ProfileMode
	if mode == "" {
		mode = api.Enforce
	}
	if mode == api.Log && caller.UID != 0 && !pl.ProfileLog {
		return nil, api.Refuse(api.CodeForbidden,
			"profile_mode log allows denied calls, and this agent allows this mode only to root: leave it out, or "+
				"have the operator allow it to all callers (brigd --profile-log)")
	}
	if len(r.ProfileRules) > 0 {
		return pl.customPolicy(r, mode, caller)
	}

	_, own := pl.Profiles[name]
	key := policyKey{name, mode, r.WritableRoot, r.TTY != nil, false}
	if key == (policyKey{profile: DefaultTier, mode: api.Enforce}) && !own {
		return DefaultPolicy()
	}

	return pl.cachedPolicy(key, func() (seccomp.Profile, error) {
		p, err := pl.profile(name)
		if err == nil && r.TTY != nil && !own && name != "strict" {
			p = seccomp.WithTerminal(p)
		}
		return p, err
	})
}

// checkTerminal refuses a terminal under a profile that refuses what programs ask of one.
func (f *Policy) checkTerminal(tty *api.TTY) error {
	if tty == nil || f.Terminal {
		return nil
	}
	return api.Refuse(api.CodeBadRequest, "tty: profile %s refuses the requests of a terminal (ioctl): use profile default", f.Name)
}

// profile finds a profile by name: the operator's, or a tier.
func (pl *Planner) profile(name string) (seccomp.Profile, error) {
	if own, listed := pl.Profiles[name]; listed {
		return own, nil
	}
	p, err := seccomp.Tier(name)
	if err != nil {
		return p, api.Refuse(api.CodeNoProfile, "profile %q is not offered: use one of %s", name,
			strings.Join(pl.ProfileNames(), ", "))
	}
	return p, nil
}

// customPolicy reads a profile that came with the run.
func (pl *Planner) customPolicy(r api.Run, mode api.ProfileMode, caller api.Caller) (*Policy, error) {
	if caller.UID != 0 {
		return nil, api.Refuse(api.CodeForbidden,
			"a profile of your own needs root: ask the operator to list it, or use one of %s",
			strings.Join(pl.ProfileNames(), ", "))
	}

	p, err := seccomp.Decode(r.ProfileRules)
	if err == nil {
		err = seccomp.Validate(p)
	}
	if err != nil {
		return nil, api.Refuse(api.CodeBadProfile, "profile: %w", err)
	}

	return pl.cachedPolicy(policyKey{seccomp.Hash(p), mode, r.WritableRoot, false, false},
		func() (seccomp.Profile, error) { return p, nil })
}

// ProfileNames lists what a run may name, sorted.
func (pl *Planner) ProfileNames() []string {
	return slices.Sorted(slices.Values(append(seccomp.Tiers(), slices.Collect(maps.Keys(pl.Profiles))...)))
}

// cachedPolicy returns the policy of a key, which is a name or a hash, and makes it the first time.
func (pl *Planner) cachedPolicy(key policyKey, profile func() (seccomp.Profile, error)) (*Policy, error) {
	pl.mu.Lock()
	defer pl.mu.Unlock()

	if f := pl.policies[key]; f != nil {
		return f, nil
	}

	p, err := profile()
	if err != nil {
		return nil, err
	}

	f := NewPolicy(p, key.mode, key.writableRoot)
	if pl.policies == nil || len(pl.policies) >= maxPolicies { // only root's own profiles can be so many
		pl.policies = map[policyKey]*Policy{}
	}

	pl.policies[key] = f
	return f, nil
}

// maxPolicies limits the policies that are kept.
const maxPolicies = 256

// allowsAny reports whether a profile allows any of the calls for at least some arguments: by a
// rule, or by its default if no rule covers all of a call.
func allowsAny(p seccomp.Profile, calls ...string) bool {
	return slices.ContainsFunc(calls, func(call string) bool {
		answered := false
		for _, r := range p.Rules {
			if !slices.Contains(r.Names, call) {
				continue
			}
			if r.Action.Open() {
				return true
			}
			answered = answered || len(r.Args) == 0
		}
		return !answered && p.Default.Action.Open()
	})
}

// DefaultTier is the profile of a run that names none.
const DefaultTier = "default"

// A policyKey is a profile's name, or the hash of a profile without a name here.
type policyKey struct {
	profile      string
	mode         api.ProfileMode
	writableRoot bool
	terminal     bool // with the requests of a terminal
	ownsImage    bool // the profile is a hash, of a policy of writable roots
}
