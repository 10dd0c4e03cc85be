package bundle

import (
	"slices"

	"github.com/brig-sandbox/brig/seccomp"
)

// ownCalls are what runc 1.1 and newer calls itself between loading the filter and exec:
// it opens /proc/self/fd, sees by fstatfs that it is on procfs, and lists it by
// getdents64, to mark every descriptor close-on-exec. Refused, it ends with "ensure
// /proc/self/fd is on procfs: operation not permitted". Under brig the filter is loaded
// last, so that it needs no call of brig's own.
var ownCalls = []string{"fstatfs", "getdents64"}

// Widened gives the profile that a bundle has: p, and the calls of the runtime itself
// that p does not allow. Those are named in added, empty where p allows them.
func Widened(p seccomp.Profile) (wide seccomp.Profile, added []string) {
	for _, name := range ownCalls {
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
	p.Rules = append(rules, seccomp.Rule{Names: added, Answer: seccomp.Allow(), Why: "runc itself calls it under the filter, before exec"})
	return p, added
}

// allows reports whether p lets a call through whatever its arguments are.
func allows(p seccomp.Profile, name string) bool {
	return slices.ContainsFunc(p.Rules, func(r seccomp.Rule) bool {
		return r.Action == seccomp.ActAllow && len(r.Args) == 0 && slices.Contains(r.Names, name)
	})
}
