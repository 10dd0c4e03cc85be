package runtime

import (
	"fmt"
	"slices"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/seccomp"
	"github.com/brig-sandbox/brig/seccomp/bpf"
)

// A filter is a compiled profile: the wide part, which a cell loads once, and the last part, which
// every run loads itself. It is immutable.
type filter struct {
	name           string
	hash           string // of the profile and the mode
	mode           api.ProfileMode
	wide, last     []byte // struct sock_filter, native byte order
	profile        seccomp.Profile
	model          *seccomp.Model
	reachesKeyring bool // a run can reach its user's persistent keyring, which nothing seals
	usesInotify    bool // a run can watch files with inotify
	hidesFiles     bool // a run can keep open files where they cannot be counted: in messages, in asynchronous reads
}

// newFilter compiles a profile in the given mode.
func newFilter(p seccomp.Profile, mode api.ProfileMode) (*filter, error) {
	p = seccomp.CountLocks(p)
	loaded := p
	if mode == api.Log {
		loaded = seccomp.LogMode(p)
	}
	wide, last := seccomp.Split(loaded)
	f := &filter{
		name: p.Name, mode: mode, profile: p, model: seccomp.NewModel(p), hash: seccomp.Hash(p),
		reachesKeyring: mode != api.Log && allowsAny(p, "keyctl", "add_key", "request_key"),
		usesInotify:    mode == api.Log || allowsAny(p, "inotify_init", "inotify_init1"),
		hidesFiles:     mode == api.Log || allowsAny(p, "sendmsg", "sendmmsg", "io_submit", "io_uring_setup"),
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

// decide returns the profile's decision on a call about which the kernel asks.
func (f *filter) decide(n seccompNotif) seccomp.Decision {
	d := f.model.Decide(seccomp.Call{Nr: n.Nr, Arch: n.Arch, Args: n.Args})
	if d.Name == "" {
		d.Name = fmt.Sprintf("syscall_%d", n.Nr)
	}
	return d
}

// denial describes the call of a notification.
func (f *filter) denial(n seccompNotif, d seccomp.Decision) api.Denial {
	out := api.Denial{Syscall: d.Name, Number: int(n.Nr), Arch: archName(n), Rule: f.name, Why: d.Why, Allowed: f.mode == api.Log}
	if out.Allowed {
		out.Count = 1
	}
	switch d.Rule {
	case seccomp.FromDefault:
		out.Rule += "/default"
	case seccomp.FromArch:
		out.Rule += "/arch"
	case seccomp.FromNewer:
		out.Rule += "/newer"
	default:
		out.Rule += fmt.Sprintf("#%d", d.Rule)
	}
	return out
}

// refusal describes a call that the agent refuses with an error.
func (f *filter) refusal(d seccomp.Decision, errno seccomp.Errno) api.Refusal {
	return api.Refusal{Syscall: d.Name, Profile: f.name, Errno: errno.String(), Count: 1}
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
