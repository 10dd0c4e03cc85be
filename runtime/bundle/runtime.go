package bundle

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/brig-sandbox/brig/seccomp"
)

// A Runtime is the program that will run a bundle. A runtime loads the filter before it executes
// the program, so the filter must allow the calls that the runtime makes in between. brig loads its
// filter last, so a profile need not allow any call of brig itself.
type Runtime string

// The runtimes whose calls under the filter are known.
const (
	Runc Runtime = "runc" // 1.1 and newer
	Crun Runtime = "crun" // 1.8 and newer
)

// Runtimes returns the names of all runtimes, the default first.
func Runtimes() []string { return []string{string(Runc), string(Crun)} }

// ParseRuntime returns the runtime with this name; empty: runc.
func ParseRuntime(name string) (Runtime, error) {
	switch r := Runtime(name); r {
	case "", Runc:
		return Runc, nil
	case Crun:
		return Crun, nil
	}
	return "", fmt.Errorf("runtime %q: its calls under the filter are not known: use %s", name,
		strings.Join(Runtimes(), " or "))
}

// A runtimeCall is a system call that a runtime makes under the filter, and its purpose.
type runtimeCall struct{ name, why string }

// floors are the calls of each runtime without which it starts no program. They were found with a
// program that makes no other call than exit_group, by refusing one call of tier strict at a time,
// with an error and with a kill. Every profile allows execve.
var floors = map[Runtime][]runtimeCall{
	Runc: {
		{"close", "runc closes the pipe of its log"},
		{"fstatfs", "runc checks that /proc/self/fd is on procfs"},
		{"futex", "threads of runc wait for each other"},
		{"getdents64", "runc lists /proc/self/fd, to mark every descriptor close-on-exec"},
		{"getpid", "runc signals its own threads"},
		{"openat", "runc opens /proc/self/fd, and the FIFO at which it waits for the start"},
		{"rt_sigreturn", "a thread of runc returns from the signal of another one"},
	},
	Crun: {
		{"close", "crun closes its own descriptors"},
	},
}

// WithRuntimeCalls returns the profile of a bundle for a runtime: p plus those of the runtime's own
// calls that p never allows; a call that p allows with some arguments stays as it is. added lists
// the calls; it is empty if p allows all of them. An empty r is runc.
func WithRuntimeCalls(p seccomp.Profile, r Runtime) (wide seccomp.Profile, added []string) {
	var own []seccomp.Rule
	for _, c := range floors[cmp.Or(r, Runc)] {
		if !allows(p, c.name) {
			added = append(added, c.name)
			own = append(own, seccomp.Rule{Names: []string{c.name}, Answer: seccomp.Allow(), Why: c.why})
		}
	}

	if len(added) == 0 {
		return p, nil
	}

	rules := make([]seccomp.Rule, 0, len(p.Rules)+len(own))
	for _, r := range p.Rules {
		r.Names = slices.DeleteFunc(slices.Clone(r.Names), func(n string) bool { return slices.Contains(added, n) })
		if len(r.Names) > 0 {
			rules = append(rules, r)
		}
	}

	p.Rules = append(rules, own...)
	return p, added
}

// allows reports whether p allows a call with some arguments, at least.
func allows(p seccomp.Profile, name string) bool {
	return slices.ContainsFunc(p.Rules, func(r seccomp.Rule) bool {
		return r.Action == seccomp.ActAllow && slices.Contains(r.Names, name)
	})
}
