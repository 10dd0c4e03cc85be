package bundle

import (
	"slices"

	"github.com/brig-sandbox/brig/seccomp"
)

// runtimeCalls are the system calls that runc 1.1 and newer itself makes between loading the filter and
// exec: it opens /proc/self/fd, checks with fstatfs that it is on procfs, and lists it with
// getdents64, to mark every descriptor close-on-exec. If a call is refused, runc exits with "ensure
// /proc/self/fd is on procfs: operation not permitted". brig loads its filter last, so a profile
// need not allow any call of brig itself.
var runtimeCalls = []string{"fstatfs", "getdents64"}

// WithRuntimeCalls returns the profile of a bundle: p plus those of the runtime's own calls that p does not
// allow. added lists these calls; it is empty if p allows all of them.
func WithRuntimeCalls(p seccomp.Profile) (wide seccomp.Profile, added []string) {
	for _, name := range runtimeCalls {
		if !allows(p, name) {
			added = append(added, name)
		}
	}
	if len(added) == 0 {
		return p, nil
	}
	rules := make([]seccomp.Rule, 0, len(p.Rules)+1)
	for _, r := range p.Rules {
		r.Names = slices.DeleteFunc(slices.Clone(r.Names), func(n string) bool { return slices.Contains(added, n) })
		if len(r.Names) > 0 {
			rules = append(rules, r)
		}
	}
	p.Rules = append(rules, seccomp.Rule{Names: added, Answer: seccomp.Allow(), Why: "runc itself makes this call under the filter, before exec"})
	return p, added
}

// allows reports whether p allows a call with any arguments.
func allows(p seccomp.Profile, name string) bool {
	return slices.ContainsFunc(p.Rules, func(r seccomp.Rule) bool {
		return r.Action == seccomp.ActAllow && len(r.Args) == 0 && slices.Contains(r.Names, name)
	})
}
