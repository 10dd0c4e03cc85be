package bpf

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	libseccomp "github.com/seccomp/libseccomp-golang"

	"github.com/brig-sandbox/brig/seccomp"
	"github.com/brig-sandbox/brig/seccomp/seccomptest"
)

// answer runs one or two raw filters, newest first.
func answer(t testing.TB, c seccomp.Call, filters ...[]byte) seccomp.Answer {
	t.Helper()
	ret := uint32(0x7fff0000)
	for i := len(filters) - 1; i >= 0; i-- {
		r, _, err := seccomp.Simulate(filters[i], c)
		if err != nil {
			t.Fatal(err)
		}
		ret = seccomp.Combine(r, ret)
	}

	a, err := seccomp.AnswerOf(ret)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// finalAnswer returns the final answer to a call: where the kernel notifies, the agent answers
// as the profile says.
func finalAnswer(m *seccomp.Model, c seccomp.Call, got seccomp.Answer) seccomp.Answer {
	if want := m.Decide(c); got == seccomp.Kill() && want.Notified() {
		return want.Answer
	}
	return got
}

// SEC-01: tests every rule with arguments it matches, then with each compared bit of each
// condition flipped.
func TestEveryRuleBothWays(t *testing.T) {
	for _, p := range undivided(t) {
		raw, err := Compile(p)
		if err != nil {
			t.Fatal(err)
		}

		model := seccomp.NewModel(p)
		good, spoiled := 0, 0
		for i, r := range p.Rules {
			for _, name := range r.Names {
				nr, ok := seccomp.Number(name, p.Arch)
				if !ok {
					continue
				}

				c := seccomp.Call{Nr: nr, Arch: p.Arch.Audit()}
				for _, k := range r.Args {
					c.Args[k.Index] = k.Value
				}

				if got, want := finalAnswer(model, c, answer(t, c, raw)), model.Decide(c); got != want.Answer || want.Rule == i && got != r.Answer {
					t.Errorf("%s: rule %d on %s gives %s; want %s", p.Name, i, name, got, r.Answer)
				}

				good++

				for _, k := range r.Args {
					for bit := uint64(1); bit != 0; bit <<= 1 {
						if k.Mask != 0 && k.Mask&bit == 0 {
							continue
						}
						bad := c
						bad.Args[k.Index] ^= bit
						got, want := finalAnswer(model, bad, answer(t, bad, raw)), model.Decide(bad)
						if got != want.Answer || want.Rule == i {
							t.Errorf("%s: rule %d on %s with argument %d spoiled to %#x gives %s; want %s", p.Name, i, name, k.Index,
								bad.Args[k.Index], got, want.Answer)
						}
						spoiled++
					}
				}
			}
		}

		if good == 0 || spoiled == 0 {
			t.Errorf("%s: %d rules tried, %d spoiled; the test is blind", p.Name, good, spoiled)
		}
	}
}

// With random profiles libseccomp's filter equals the model, or the profile is refused as
// too large for it.
func TestRandomProfiles(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	large := 0
	const n = 150
	for i := range n {
		p := seccomptest.Random(rng)
		raw, err := compile(p)
		if err != nil && !errors.Is(err, ErrTooLarge) && !errors.Is(err, seccomp.ErrTooComplex) {
			t.Fatalf("profile %d: %v", i, err)
		}
		if err != nil {
			large++
			continue
		}
		if err := Verify(raw, p); err != nil {
			t.Errorf("profile %d: %v", i, err)
		}
	}

	t.Logf("of %d profiles %d were too large", n, large)
	if large > n/2 {
		t.Errorf("%d of %d profiles were too large; the test sees too little", large, n)
	}
}

// FuzzCompile looks for a profile whose filter differs from its model.
func FuzzCompile(f *testing.F) {
	f.Add(uint64(1), uint64(2))
	f.Add(uint64(36), uint64(64)) // sixteen masked and not-equal rules of one call
	f.Fuzz(func(t *testing.T, a, b uint64) {
		p := seccomptest.Random(rand.New(rand.NewPCG(a, b)))
		raw, err := compile(p)
		if errors.Is(err, ErrTooLarge) || errors.Is(err, seccomp.ErrTooComplex) {
			t.Skip(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := Verify(raw, p); err != nil {
			t.Error(err)
		}
	})
}

// A damaged filter must not pass Verify: this shows that Verify can fail.
func TestVerifyDetectsACorruptFilter(t *testing.T) {
	p := variants(t)[0]
	t.Run(p.Name, func(t *testing.T) { corrupt(t, p, 4096) })
	p.Default = seccomp.Fail(seccomp.ENOSYS) // so that it differs from the answer to foreign numbers
	wide, last := seccomp.Split(p)
	t.Run(wide.Name, func(t *testing.T) { corrupt(t, wide, 4096) })
	// After its start are checks that are never reached: all calls that get there have a rule.
	t.Run(last.Name, func(t *testing.T) { corrupt(t, last, len(last.Setup)+12) })
}

func corrupt(t *testing.T, p seccomp.Profile, maximum int) {
	raw, err := Compile(p)
	if err != nil {
		t.Fatal(err)
	}

	missed := 0
	for i := 0; i+8 <= min(len(raw), 8*maximum); i += 8 {
		bad := append([]byte(nil), raw...)
		switch insn := bad[i : i+8]; insn[0] & 7 {
		case 0: // load another field
			insn[4] ^= 4
		case 4: // mask another bit
			insn[4] ^= 1
		case 5: // jump the other way
			insn[2], insn[3] = insn[3], insn[2]
		case 6: // return trap
			binary.LittleEndian.PutUint32(insn[4:], 0x30000)
		}

		if bytes.Equal(bad, raw) {
			continue // an unconditional jump
		}
		if Verify(bad, p) == nil {
			missed++
			t.Logf("instruction %d changed unseen: % x", i/8, raw[i:i+8])
		}
	}

	if missed > 0 {
		t.Errorf("%d of %d changed instructions were not seen", missed, len(raw)/8)
	}
}

// SEC-32. Flatten refuses a profile before libseccomp gets too much work; the kernel's
// own limit is checked on the result.
func TestOversizeFilterIsRefused(t *testing.T) {
	if err := checkSize(make([]byte, 8*4096)); err != nil {
		t.Errorf("4096 instructions: %v", err)
	}
	if err := checkSize(make([]byte, 8*4097)); !errors.Is(err, ErrTooLarge) {
		t.Errorf("4097 instructions: %v; want ErrTooLarge", err)
	}

	p := seccomp.Profile{Name: "huge", Default: seccomp.Fail(seccomp.EPERM)}
	for _, name := range strings.Fields("mount ioctl fcntl prctl clone") {
		for i := range uint64(150) {
			p.Rules = append(p.Rules, seccomp.Rule{
				Names: []string{name}, Answer: seccomp.Allow(), Why: "many", Args: []seccomp.ArgCond{{Value: i}},
			})
		}
	}

	if _, err := Compile(p); !errors.Is(err, seccomp.ErrTooComplex) {
		t.Errorf("750 conditions: %v; want ErrTooComplex", err)
	}
}

// The arm64 tiers compile on any machine that libseccomp runs on. Calls newer
// than this libseccomp have no number that it could translate; they are left out
// here, but not on arm64 itself, where plain numbers are used.
func TestARM64Compiles(t *testing.T) {
	for _, p := range variants(t) {
		wide, last := seccomp.Split(p)
		for _, part := range []seccomp.Profile{wide, last} {
			part.Arch = seccomp.ARM64
			part = withoutUnknown(part)
			raw, err := Compile(part)
			if err != nil {
				t.Fatal(err)
			}
			c := seccomp.Call{Nr: 221, Arch: seccomp.ARM64.Audit()} // execve
			if got := answer(t, c, raw); got != seccomp.Allow() {
				t.Errorf("%s: execve on arm64: %s", part.Name, got)
			}
		}
	}
}

func withoutUnknown(p seccomp.Profile) seccomp.Profile {
	var unknown []string
	for _, r := range p.Rules {
		for _, n := range r.Names {
			if _, err := libseccomp.GetSyscallFromName(n); err != nil {
				unknown = append(unknown, n)
			}
		}
	}
	return seccomp.Extend(p, unknown, nil)
}

// SEC-11. A call for which this libseccomp has no name is compiled by its number on the
// native architecture, and is an error for another; the result is never a filter without
// its rule.
func TestNamesThatTheLibraryLacks(t *testing.T) {
	p, err := seccomp.Tier("default")
	if err != nil {
		t.Fatal(err)
	}

	known := map[string]bool{}
	for _, r := range withoutUnknown(p).Rules {
		for _, n := range r.Names {
			known[n] = true
		}
	}

	lacks := 0
	for _, r := range p.Rules {
		for _, name := range r.Names {
			nr, ok := seccomp.Number(name, "")
			if known[name] || !ok {
				continue
			}

			lacks++
			one := seccomp.Profile{Name: "one", Arch: seccomp.Arch("").OrNative(), Default: seccomp.Fail(seccomp.EPERM)}
			one.Rules = []seccomp.Rule{{Names: []string{name}, Answer: seccomp.Allow(), Why: "to be found"}}
			raw, err := Compile(one)
			if err != nil {
				t.Fatal(err)
			}
			if got := answer(t, seccomp.Call{Nr: nr, Arch: one.Arch.Audit()}, raw); got != seccomp.Allow() {
				t.Errorf("%s is allowed and gets %s", name, got)
			}

			one.Arch = seccomp.ARM64
			if one.Arch == seccomp.Arch("").OrNative() {
				one.Arch = seccomp.AMD64
			}
			if _, there := seccomp.Number(name, one.Arch); there {
				if _, err := Compile(one); err == nil || !strings.Contains(err.Error(), name) {
					t.Errorf("%s compiles for %s: %v", name, one.Arch, err)
				}
			}
		}
	}

	major, minor, micro := libseccomp.GetLibraryVersion()
	t.Logf("libseccomp %d.%d.%d lacks %d names of the default tier", major, minor, micro, lacks)
	if lacks == 0 {
		t.Skip("it knows them all: nothing to see")
	}
}

// A profile that is nearly the most expensive one accepted by Flatten must not occupy the
// agent for long.
func TestCostOfTheWorstProfileIsBounded(t *testing.T) {
	p := seccomp.Profile{Name: "worst", Default: seccomp.Fail(seccomp.EPERM)}
	for _, name := range strings.Fields("ioctl fcntl prctl") {
		for i := range uint64(30) {
			p.Rules = append(p.Rules, seccomp.Rule{
				Names: []string{name}, Answer: seccomp.Allow(), Why: "many",
				Args: []seccomp.ArgCond{{Index: 0, Value: i * 0x9e3779b97f4a7c15}, {Index: 1, Value: i % 13}, {Index: 2, Value: i << 32}},
			})
		}
	}

	for i := range uint64(16) {
		p.Rules = append(p.Rules, seccomp.Rule{
			Names: []string{"sendmsg", "recvmsg"}, Answer: seccomp.Allow(), Why: "masked",
			Args: []seccomp.ArgCond{{Index: 4, Mask: 1 << i, Value: 1 << i}, {Index: 5, Mask: 3 << i, Value: 1 << i}},
		})
	}

	start := time.Now()
	_, err := Compile(p)
	t.Logf("%v: %v", time.Since(start), err)
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("%v to compile or refuse (%v)", took, err)
	}
}
