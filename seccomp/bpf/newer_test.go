package bpf

import (
	"testing"

	"github.com/brig-sandbox/brig/seccomp"
)

// SEC-12. Numbers above the tables get ENOSYS from both parts together, by the wide one; on
// either architecture, whatever the default. In log mode they are notified.
func TestNewerCallsAreUnknown(t *testing.T) {
	for _, arch := range []seccomp.Arch{seccomp.AMD64, seccomp.ARM64} {
		for _, p := range variants(t) {
			if arch != seccomp.Arch("").OrNative() {
				p = withoutUnknown(p)
			}

			p.Arch = arch
			wide, last := seccomp.Split(p)
			w, err := Compile(wide)
			if err != nil {
				t.Fatal(err)
			}

			l, err := Compile(last)
			if err != nil {
				t.Fatal(err)
			}

			newest := seccomp.Newest(arch)
			for _, nr := range []int32{newest + 1, newest + 2, 1024, 100_000, seccomp.X32Bit - 1} {
				c := seccomp.Call{Nr: nr, Arch: arch.Audit()}
				if got := answer(t, c, l); got != seccomp.Allow() {
					t.Errorf("%s on %s: call %d: the last part answers %s", p.Name, arch, nr, got)
				}
				want := seccomp.Fail(seccomp.ENOSYS)
				if p.Log {
					want = seccomp.Kill()
				}
				if got := answer(t, c, l, w); got != want {
					t.Errorf("%s on %s: call %d gets %s; want %s", p.Name, arch, nr, got, want)
				}
			}

			for _, nr := range []int32{-1, 400} { // a tracer's number, and an unassigned one below the newest
				if got := finalAnswer(seccomp.NewModel(p), seccomp.Call{Nr: nr, Arch: arch.Audit()},
					answer(t, seccomp.Call{Nr: nr, Arch: arch.Audit()}, l, w)); got != p.Default {
					t.Errorf("%s on %s: call %d gets %s; want the default, %s", p.Name, arch, nr, got, p.Default)
				}
			}
		}
	}
}

// Custom profiles, also without any rule, and defaults for which libseccomp makes filters
// of another structure.
func TestNewerCallsAreUnknownInAnyProfile(t *testing.T) {
	one := seccomp.Rule{Names: []string{"getpid"}, Answer: seccomp.Allow(), Why: "one"}
	for _, arch := range []seccomp.Arch{seccomp.AMD64, seccomp.ARM64} {
		for _, def := range []seccomp.Answer{seccomp.Fail(seccomp.EPERM), seccomp.Fail(seccomp.ENOSYS), seccomp.Kill(),
			{Action: seccomp.ActLog}} {
			for _, rules := range [][]seccomp.Rule{nil, {one}} {
				raw, err := Compile(seccomp.Profile{Name: "own", Arch: arch, Default: def, Rules: rules})
				if err != nil {
					t.Fatal(err)
				}
				c := seccomp.Call{Nr: seccomp.Newest(arch) + 1, Arch: arch.Audit()}
				if got := answer(t, c, raw); got != seccomp.Fail(seccomp.ENOSYS) {
					t.Errorf("%d rules on %s, default %s: %s; want ENOSYS", len(rules), arch, def, got)
				}
			}
		}
	}
}

// libcontainer's own ENOSYS begins above the highest call that an export names; for our
// tiers ours begins at the same number.
func TestOCIExportNamesTheNewestCall(t *testing.T) {
	for _, name := range seccomp.Tiers() {
		p, err := seccomp.Tier(name)
		if err != nil {
			t.Fatal(err)
		}

		for _, p.Arch = range []seccomp.Arch{seccomp.AMD64, seccomp.ARM64} {
			o, err := seccomp.ExportOCI(p)
			if err != nil {
				t.Fatal(err)
			}

			highest := int32(-1)
			for _, s := range o.Syscalls {
				for _, call := range s.Names {
					nr, _ := seccomp.Number(call, p.Arch)
					highest = max(highest, nr)
				}
			}

			if newest := seccomp.Newest(p.Arch); highest != newest {
				t.Errorf("%s on %s: the highest call named is %d; the newest is %d", name, p.Arch, highest, newest)
			}
		}
	}
}
