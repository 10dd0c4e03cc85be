package seccomp_test

import (
	"testing"

	"github.com/brig-sandbox/brig/seccomp"
	"github.com/brig-sandbox/brig/seccomp/bpf"
)

// A terminal opens what an interactive program asks of it, of every tier but strict, and nothing that types into one,
// takes one or loads code into the kernel (TTY-01).
func TestTerminal(t *testing.T) {
	for _, tier := range seccomp.Tiers() {
		plain, err := seccomp.Tier(tier)
		if err != nil {
			t.Fatal(err)
		}
		if seccomp.AllowsTerminal(plain) {
			t.Errorf("tier %s has a terminal without having asked for one", tier)
		}

		p := seccomp.WithTerminal(plain)
		if !seccomp.AllowsTerminal(p) {
			t.Errorf("tier %s with a terminal refuses its modes", tier)
		}

		wide, _ := seccomp.Split(seccomp.CountLocks(p))
		if _, err := bpf.Compile(wide); err != nil {
			t.Errorf("tier %s: %v", tier, err)
		}

		m := seccomp.NewModel(p)
		for _, tt := range []struct {
			name         string
			request, arg uint64
			allowed      bool
		}{
			{"TCGETS", 0x5401, 1, true},
			{"TCSETS", 0x5402, 1, true},
			{"TCSETSW", 0x5403, 1, true},
			{"TCSETSF", 0x5404, 1, true},
			{"TCSBRK", 0x5409, 1, true},
			{"TCXONC", 0x540a, 1, true},
			{"TCFLSH", 0x540b, 1, true},
			{"TIOCEXCL", 0x540c, 0, false},
			{"TIOCSCTTY", 0x540e, 0, true},
			{"TIOCGPGRP", 0x540f, 1, true},
			{"TIOCSPGRP", 0x5410, 1, true},
			{"TIOCOUTQ", 0x5411, 1, true},
			{"TIOCSTI", 0x5412, 1, false},
			{"TIOCGWINSZ", 0x5413, 1, true},
			{"TIOCSWINSZ", 0x5414, 1, true},
			{"TIOCLINUX", 0x541c, 1, false},
			{"TIOCCONS", 0x541d, 0, false},
			{"TIOCPKT", 0x5420, 1, false},
			{"TIOCNOTTY", 0x5422, 0, false},
			{"TIOCSETD", 0x5423, 1, false},
			{"TIOCGSID", 0x5429, 1, true},
			{"TCGETS2", 0x802c542a, 1, true},
			{"TCSETS2", 0x402c542b, 1, true},
			{"TCSETSW2", 0x402c542c, 1, true},
			{"TCSETSF2", 0x402c542d, 1, true},
			{"TIOCGPTPEER", 0x5441, 2, false},
			{"TIOCSTI with bits above 31", 1<<32 | 0x5412, 1, false},
		} {
			call := seccomp.Call{Nr: 16, Arch: seccomp.AMD64.Audit(), Args: [6]uint64{0, tt.request, tt.arg}}
			if seccomp.Name(call.Nr, p.Arch.OrNative()) != "ioctl" {
				t.Skip("numbers of amd64")
			}
			if got := m.Decide(call).Action.Open(); got != tt.allowed {
				t.Errorf("tier %s: %s allowed: %v; want %v", tier, tt.name, got, tt.allowed)
			}
		}
	}
}
