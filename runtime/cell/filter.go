package cell

import (
	"fmt"
	"log/slog"
	"sync"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/runtime/linux"
	"github.com/brig-sandbox/brig/runtime/plan"
	"github.com/brig-sandbox/brig/seccomp"
	"github.com/brig-sandbox/brig/seccomp/bpf"
)

// A Filter is a compiled policy: the wide part, which a cell loads once, and the last part, which
// every run loads itself. It is immutable.
type Filter struct {
	*plan.Policy
	wide, last []byte // struct sock_filter, native byte order
	model      *seccomp.Model
}

// newFilter compiles a policy.
func newFilter(p *plan.Policy) (*Filter, error) {
	loaded := p.Profile
	if p.Mode == api.Log {
		loaded = seccomp.LogMode(p.Profile)
	}

	wide, last := seccomp.Split(loaded)
	f := &Filter{Policy: p, model: seccomp.NewModel(p.Profile)}
	var err error
	if f.wide, err = bpf.Compile(wide); err != nil {
		return nil, fmt.Errorf("profile %s: %w", p.Name, err)
	}
	if f.last, err = bpf.Compile(last); err != nil {
		return nil, fmt.Errorf("profile %s, last part: %w", p.Name, err)
	}
	if len(f.wide)/8 > wireMaxWide || len(f.last)/8 > wireMaxLast {
		return nil, api.Refuse(api.CodeBadProfile, "profile %s compiles to %d+%d instructions: the maximum is %d+%d", p.Name,
			len(f.wide)/8, len(f.last)/8, wireMaxWide, wireMaxLast)
	}
	return f, nil
}

// Filters keeps compiled filters, by the hash of their policy. The zero value has none.
type Filters struct {
	mu   sync.Mutex
	made map[string]*Filter // guarded by mu

	compiling sync.WaitGroup // what BeginDefault started
}

// BeginDefault compiles the filter of plan.DefaultPolicy ahead of the first run, in the background until Wait. If that
// fails, the first run tries again and reports the error.
func (c *Filters) BeginDefault(log *slog.Logger) {
	c.compiling.Go(func() {
		policy, err := plan.DefaultPolicy()
		if err == nil {
			_, err = c.Get(policy)
		}
		if err != nil {
			log.Error("a seccomp filter does not compile", "profile", plan.DefaultTier, "err", err)
		}
	})
}

// Wait returns when nothing is compiled in the background.
func (c *Filters) Wait() { c.compiling.Wait() }

// Get returns the filter of a policy, and compiles it the first time.
func (c *Filters) Get(p *plan.Policy) (*Filter, error) {
	c.mu.Lock()
	defer c.mu.Unlock()

	if f := c.made[p.Hash]; f != nil {
		return f, nil
	}

	f, err := newFilter(p)
	if err != nil {
		return nil, err
	}
	if c.made == nil || len(c.made) >= maxFilters { // only root's own profiles can be so many
		c.made = map[string]*Filter{}
	}

	c.made[p.Hash] = f
	return f, nil
}

// maxFilters limits the filters that are kept; the cells that use one have their own copy.
const maxFilters = 256

// Decide returns the profile's decision on a call about which the kernel asks.
func (f *Filter) Decide(n linux.SeccompNotif) seccomp.Decision {
	d := f.model.Decide(seccomp.Call{Nr: n.Nr, Arch: n.Arch, Args: n.Args})
	if d.Name == "" {
		d.Name = fmt.Sprintf("syscall_%d", n.Nr)
	}
	return d
}

// Denial describes the call of a notification.
func (f *Filter) Denial(n linux.SeccompNotif, d seccomp.Decision) api.Denial {
	out := api.Denial{Syscall: d.Name, Number: int(n.Nr), Arch: archName(n), Rule: f.Name, Why: d.Why,
		Allowed: f.Mode == api.Log}
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

// Refusal describes a call that the agent refuses with an error.
func (f *Filter) Refusal(d seccomp.Decision, errno seccomp.Errno) api.Refusal {
	return api.Refusal{Syscall: d.Name, Profile: f.Name, Errno: errno.String(), Count: 1}
}

// The architectures a 64-bit process can enter the kernel with: AUDIT_ARCH_* of
// linux/audit.h. x32 shares x86_64's and sets bit 30 of the number.
func archName(n linux.SeccompNotif) string {
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
