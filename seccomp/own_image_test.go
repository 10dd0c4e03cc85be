package seccomp

import (
	"slices"
	"testing"
)

// OWN-02: for programs that own their image, calls that change owners and users report success, for all arguments, and
// are never made. Every other answer is that of the profile.
func TestOwnImageAnswers(t *testing.T) {
	changed := calls("chown fchown lchown fchownat setuid setgid setreuid setregid setresuid setresgid setfsuid setfsgid setgroups")
	for _, name := range Tiers() {
		before := tier(t, name)
		own := OwnImage(before, true)
		if !own.OwnsImage || before.OwnsImage {
			t.Errorf("%s: own %v, before %v", name, own.OwnsImage, before.OwnsImage)
		}

		m, old, seen := NewModel(own), NewModel(before), map[string]bool{}
		for c := range BoundaryCalls(before, own) {
			got, was := m.Decide(c), old.Decide(c)
			want := was.Answer
			if slices.Contains(changed, got.Name) && got.Rule != FromArch && name != "strict" {
				seen[got.Name] = true
				want = Pretend()
			}
			if got.Answer != want {
				t.Fatalf("%s: %s %+v gets %s; want %s", name, got.Name, c, got.Answer, want)
			}
		}
		if want := len(changed); name != "strict" && len(seen) != want {
			t.Errorf("%s: %d of %d calls seen", name, len(seen), want)
		}
	}

	// An operator's own profile decides itself.
	ours := tier(t, "default")
	ours.Name = "ours"
	if Hash(OwnImage(ours, false)) != Hash(ours) {
		t.Error("a profile of the operator has other answers")
	}
	if p := tier(t, "default"); Hash(OwnImage(p, true)) == Hash(p) {
		t.Error("the answers are not part of the hash")
	}

	// The answer exists for OwnImage alone: a profile that a caller sends cannot have it.
	lie := tier(t, "default")
	lie.Rules = append(slices.Clone(lie.Rules), Rule{Names: calls("reboot2"), Answer: Pretend(), Why: "x"})
	if Validate(lie) == nil {
		t.Error("a profile pretends")
	}
	if Pretend().Notified() || Pretend().String() != "pretend" {
		t.Error(Pretend().Notified(), Pretend())
	}
}
