package runtime

import (
	"fmt"
	"slices"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/seccomp"
	"github.com/brig-sandbox/brig/seccomp/bpf"
)

// A filter is a profile compiled: the wide part a cell loads once, the last part
// every run loads itself. It is immutable.
type filter struct {
	name       string
	hash       string // of the profile and the mode
	mode       api.ProfileMode
	wide, last []byte // struct sock_filter, native byte order
	profile    seccomp.Profile
	model      *seccomp.Model
	keys       bool // a run may reach its user's persistent keyring, which nothing seals
	watches    bool // a run may watch files
}

// newFilter compiles a profile, in the mode given.
func newFilter(p seccomp.Profile, mode api.ProfileMode) (*filter, error) {
	loaded := p
	if mode == api.Log {
		loaded = seccomp.LogMode(p)
	}
	wide, last := seccomp.Split(loaded)
	f := &filter{
		name: p.Name, mode: mode, profile: p, model: seccomp.NewModel(p), hash: seccomp.Hash(p),
		keys:    mode != api.Log && letsThrough(p, "keyctl", "add_key", "request_key"),
		watches: mode == api.Log || letsThrough(p, "inotify_init", "inotify_init1"),
	}
	if mode == api.Log {
		f.hash += "+log"
	}
	var err error
	if f.wide, err = bpf.Compile(wide); err != nil {
		return nil, fmt.Errorf("profile %s: %w", p.Name, err)
	}
	if f.last, err = bpf.Compile(last); err != nil {
		return nil, fmt.Errorf("profile %s, last part: %w", p.Name, err)
	}
	if len(f.wide)/8 > wireMaxWide || len(f.last)/8 > wireMaxLast {
		return nil, api.Refuse(api.CodeBadProfile, "profile %s compiles to %d+%d instructions: the most is %d+%d", p.Name, len(f.wide)/8, len(f.last)/8, wireMaxWide, wireMaxLast)
	}
	return f, nil
}

// letsThrough reports whether a profile lets any of the calls through, whatever the
// arguments: by a rule, or by its default where no rule answers all of a call.
func letsThrough(p seccomp.Profile, calls ...string) bool {
	through := func(a seccomp.Action) bool { return a == seccomp.ActAllow || a == seccomp.ActLog }
	return slices.ContainsFunc(calls, func(call string) bool {
		answered := false
		for _, r := range p.Rules {
			if !slices.Contains(r.Names, call) {
				continue
			}
			if through(r.Action) {
				return true
			}
			answered = answered || len(r.Args) == 0
		}
		return !answered && through(p.Default.Action)
	})
}

// denial says in words what a notification was about.
func (f *filter) denial(n seccompNotif) api.Denial {
	d := f.model.Decide(seccomp.Call{Nr: n.Nr, Arch: n.Arch, Args: n.Args})
	out := api.Denial{Syscall: d.Name, Number: int(n.Nr), Arch: archName(n), Rule: f.name, Why: d.Why, Allowed: f.mode == api.Log}
	switch d.Rule {
	case seccomp.FromDefault:
		out.Rule += "/default"
	case seccomp.FromArch:
		out.Rule += "/arch"
	default:
		out.Rule += fmt.Sprintf("#%d", d.Rule)
	}
	if out.Syscall == "" {
		out.Syscall = fmt.Sprintf("syscall_%d", n.Nr)
	}
	return out
}

// The architectures a 64-bit process can enter the kernel with: AUDIT_ARCH_* of
// linux/audit.h. x32 shares x86_64's and sets bit 30 of the number.
func archName(n seccompNotif) string {
	switch {
	case n.Arch == 0xc000003e && uint32(n.Nr)&seccomp.X32Bit != 0 && n.Nr != -1:
		return "x32"
	case n.Arch == 0xc000003e:
		return "x86_64"
	case n.Arch == 0x40000003:
		return "i386"
	case n.Arch == 0xc00000b7:
		return "aarch64"
	}
	return fmt.Sprintf("%#x", n.Arch)
}
