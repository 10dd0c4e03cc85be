package bpf

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/seccomp"
)

// variants returns the profiles for which everything below is proven: each tier, its log
// mode, and strict with kill as default.
func variants(t testing.TB) []seccomp.Profile {
	var out []seccomp.Profile
	for _, name := range seccomp.Tiers() {
		p, err := seccomp.Tier(name)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, p, seccomp.LogMode(p))
		own := seccomp.OwnImage(p, true)
		own.Name += "-own"
		out = append(out, own)
		if name == "strict" {
			p.Name, p.Default = "strict-kill", seccomp.Kill()
			out = append(out, p)
		}
	}

	return out
}

// undivided returns the variants that are also compiled whole; log modes are loaded
// in two parts only.
func undivided(t testing.TB) []seccomp.Profile {
	return slices.DeleteFunc(variants(t), func(p seccomp.Profile) bool { return strings.HasSuffix(p.Name, "/log") })
}

// SEC-03. Compile verifies each filter against its own model. This test verifies that both
// parts together equal the profile.
func TestPartsEqualProfile(t *testing.T) {
	for _, p := range variants(t) {
		t.Run(p.Name, func(t *testing.T) {
			wide, last := seccomp.Split(p)
			start := time.Now()
			w, err := Compile(wide)
			if err != nil {
				t.Fatal(err)
			}
			l, err := Compile(last)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("instructions: wide %d, last %d; %v to compile and prove", len(w)/8, len(l)/8, time.Since(start))
			checkCombined(t, p, wide, last, w, l)
		})
	}
}

func checkCombined(t *testing.T, p, wide, last seccomp.Profile, w, l []byte) {
	t.Helper()
	model, n := seccomp.NewModel(p), 0
	for c := range seccomp.BoundaryCalls(p, wide, last) {
		n++
		rw, _, err := seccomp.Simulate(w, c)
		if err != nil {
			t.Fatal(err)
		}

		rl, _, err := seccomp.Simulate(l, c)
		if err != nil {
			t.Fatal(err)
		}
		if a, err := seccomp.AnswerOf(rl); err != nil || a.Action == seccomp.ActKill {
			t.Fatalf("the last part answers %+v with %v, %v; it must never notify", c, a, err)
		}

		got, err := seccomp.AnswerOf(seccomp.Combine(rl, rw))
		if err != nil {
			t.Fatal(err)
		}

		want := model.Decide(c)
		if c.Args[5] == seccomp.SetupMark && slices.Contains(wide.Setup, want.Name) && !p.Log {
			// A program's call with the mark: it never gets more than the profile allows, except that it
			// may begin a template, which is an execve.
			if want.Name == "execveat" && c.Args[0] == 3 && got == seccomp.Allow() {
				continue
			}
			if got.Action != seccomp.ActErrno && got.Action != seccomp.ActKillProcess {
				t.Fatalf("%s with the mark: both parts answer with %s", want.Name, got)
			}
			continue
		}

		if p.Log && slices.Contains(wide.Setup, want.Name) && got == seccomp.Allow() && c.Args[5] == seccomp.SetupMark {
			continue
		}
		if want.Notified() { // the kernel notifies the agent, which answers by the model
			want.Answer = seccomp.Kill()
		}
		if got != want.Answer {
			t.Fatalf("%s: both parts answer %+v with %s; the profile says %s (rule %d)", want.Name, c, got, want.Answer, want.Rule)
		}
	}

	t.Logf("%d calls compared", n)
}

func TestOldLibraryIsRefused(t *testing.T) {
	for _, v := range [][3]uint{{2, 5, 3}, {2, 4, 9}, {1, 9, 9}} {
		if err := checkVersion(v[0], v[1], v[2]); !errors.Is(err, ErrTooOld) {
			t.Errorf("libseccomp %v: %v; want ErrTooOld", v, err)
		}
	}
	for _, v := range [][3]uint{{2, 5, 4}, {2, 6, 0}, {3, 0, 0}} {
		if err := checkVersion(v[0], v[1], v[2]); err != nil {
			t.Errorf("libseccomp %v: %v; want none", v, err)
		}
	}
}
