package runtime

import (
	"crypto/rand"
	"encoding/base32"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/rootfs"
	"github.com/brig-sandbox/brig/seccomp"
)

// A Caller identifies the caller, by the socket's peer credentials.
type Caller struct{ UID, GID uint32 }

// cpusetWithin refuses processors that the agent may not use.
func (h *Host) cpusetWithin(list string) error {
	if list == "" {
		return nil
	}
	cpus, err := ParseCPUs(list)
	if err != nil {
		return api.Refuse(api.CodeBadLimits, "limit cpuset: %w", err)
	}
	for _, c := range cpus {
		if !slices.Contains(h.allowed, c) {
			return api.Refuse(api.CodeAboveCeiling, "limit cpuset is %q: processor %d is not among this agent's %v", list, c, h.allowed)
		}
	}
	return nil
}

// checkCpusetAllowed refuses a caller other than root the processors that the operator has not listed: a
// caller that may choose its processors takes them from runs on other slots. The processors in a
// manifest are the operator's choice.
func (h *Host) checkCpusetAllowed(list string, c Caller) error {
	if list == "" || c.UID == 0 {
		return nil
	}
	cpus, err := ParseCPUs(list)
	if err != nil {
		return api.Refuse(api.CodeBadLimits, "limit cpuset: %w", err)
	}
	var listed []int
	if h.cfg.Ceiling.Cpuset != "" {
		if listed, err = ParseCPUs(h.cfg.Ceiling.Cpuset); err != nil {
			return err
		}
	}
	for _, n := range cpus {
		if !slices.Contains(listed, n) {
			return api.Refuse(api.CodeAboveCeiling, "limit cpuset is %q: this agent allows processor %d only to root: leave cpuset out, or have the operator list it (brigd --max-cpuset)", list, n)
		}
	}
	return nil
}

// checkCpusetsAllowed is checkCpusetAllowed for every cpuset in a request.
func (h *Host) checkCpusetsAllowed(r api.Run, c Caller) error {
	err := h.checkCpusetAllowed(r.Limits.Cpuset, c)
	if err == nil {
		err = h.checkCpusetAllowed(r.CompileLimits.Cpuset, c)
	}
	for i := 0; err == nil && i < len(r.Tests); i++ {
		err = h.checkCpusetAllowed(r.Tests[i].Limits.Cpuset, c)
	}
	return err
}

// A language is what a manifest says about running a program; its zero value is
// a run that names an image instead.
type language struct {
	rootfs.Language
	Limits   api.Limits
	FullProc bool
}

func (l language) env(interactive bool) map[string]string {
	if !interactive {
		return l.Env
	}
	env := maps.Clone(l.Env)
	if env == nil {
		env = map[string]string{}
	}
	maps.Copy(env, l.InteractiveEnv)
	return env
}

func (h *Host) language(r api.Run) (language, error) {
	if r.Language == "" {
		return language{}, nil
	}
	l, err := h.cfg.Languages.ByName(r.Language)
	if err != nil {
		return language{}, api.Refuse(api.CodeNoLanguage, "%w", err)
	}
	return language{Language: l, Limits: l.Limits, FullProc: l.Proc == "full"}, nil
}

// image finds the stored image of a run.
func (h *Host) image(r api.Run, l language) (rootfs.Image, error) {
	name := r.Image
	if r.Language != "" {
		name = l.Image
	}
	img, err := h.cfg.Images.Lookup(name)
	if errors.Is(err, rootfs.ErrNotFound) || errors.Is(err, rootfs.ErrName) {
		return img, api.Refuse(api.CodeNoImage, "%w", err)
	}
	if err != nil || r.Language == "" {
		return img, err
	}
	err = l.CheckImage(img)
	if errors.Is(err, rootfs.ErrOutdated) {
		err = api.Refuse(api.CodeNoImage, "%w", err)
	}
	return img, err
}

// filterFor finds the profile of a run and compiles it the first time. Only the tiers and the
// profiles that the operator listed are available by name. A profile of the caller's own is for
// root, which could as well have listed it.
func (h *Host) filterFor(r api.Run, l language, caller Caller) (*filter, error) {
	name := r.Profile
	if name == "" {
		name = l.Tier
	}
	if name == "" {
		name = DefaultTier
	}
	mode := r.ProfileMode
	if mode == "" {
		mode = api.Enforce
	}
	if mode == api.Log && caller.UID != 0 && !h.cfg.ProfileLog {
		return nil, api.Refuse(api.CodeForbidden, "profile_mode log allows denied calls, and this agent allows this mode only to root: leave it out, or have the operator allow it to all callers (brigd --profile-log)")
	}
	if len(r.ProfileRules) > 0 {
		return h.customFilter(r, mode, caller)
	}
	return h.cachedFilter(filterKey{name, mode}, func() (seccomp.Profile, error) { return h.profile(name) })
}

// profile finds a profile by name: the operator's, or a tier.
func (h *Host) profile(name string) (seccomp.Profile, error) {
	if own, listed := h.cfg.Profiles[name]; listed {
		return own, nil
	}
	p, err := seccomp.Tier(name)
	if err != nil {
		return p, api.Refuse(api.CodeNoProfile, "profile %q is not offered: use one of %s", name, strings.Join(h.ProfileNames(), ", "))
	}
	return p, nil
}

// customFilter compiles a profile that came with the run.
func (h *Host) customFilter(r api.Run, mode api.ProfileMode, caller Caller) (*filter, error) {
	if caller.UID != 0 {
		return nil, api.Refuse(api.CodeForbidden, "a profile of your own needs root: ask the operator to list it, or use one of %s", strings.Join(h.ProfileNames(), ", "))
	}
	p, err := seccomp.Decode(r.ProfileRules)
	if err == nil {
		err = seccomp.Validate(p)
	}
	if err != nil {
		return nil, api.Refuse(api.CodeBadProfile, "profile: %w", err)
	}
	return h.cachedFilter(filterKey{seccomp.Hash(p), mode}, func() (seccomp.Profile, error) { return p, nil })
}

// ProfileNames lists what a run may name, sorted.
func (h *Host) ProfileNames() []string {
	return slices.Sorted(slices.Values(append(seccomp.Tiers(), slices.Collect(maps.Keys(h.cfg.Profiles))...)))
}

// cachedFilter returns the filter of a key, which is a name or a hash, and makes it the first time.
func (h *Host) cachedFilter(key filterKey, profile func() (seccomp.Profile, error)) (*filter, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if f := h.filters[key]; f != nil {
		return f, nil
	}
	p, err := profile()
	if err != nil {
		return nil, err
	}
	f, err := newFilter(p, key.mode)
	if err != nil {
		return nil, err
	}
	if len(h.filters) >= maxFilters { // only root's own profiles can be so many
		clear(h.filters)
	}
	h.filters[key] = f
	return f, nil
}

// maxFilters limits the filters that are kept; the cells that use one have their own copy.
const maxFilters = 256

// runID returns a new run id: 16 characters that cannot be guessed.
func NewID() string {
	var b [10]byte
	_, _ = rand.Read(b[:]) // never fails (crypto/rand, Go 1.24)
	return strings.ToLower(base32.StdEncoding.EncodeToString(b[:]))
}

// isUserError reports whether the caller, or the program's author, can fix the cause of an error. Such
// an error says nothing bad about the cell.
func isUserError(err error) bool {
	var e *api.Error
	var artifact *invalidArtifact
	var source *InvalidSource
	return errors.As(err, &artifact) || errors.As(err, &source) || errors.As(err, &e) && !e.RetrySafe
}

// apiError gives every failure a stable code. An error without a code is an internal one.
func apiError(err error, run string) *api.Error {
	var e *api.Error
	if errors.As(err, &e) {
		out := *e
		out.Run = run
		return &out
	}
	out := api.Fail(api.CodeInternal, "%w", err)
	out.Run = run
	return out
}
