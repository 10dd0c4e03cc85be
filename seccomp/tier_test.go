package seccomp

import (
	"slices"
	"strings"
	"testing"
)

func tier(t testing.TB, name string) Profile {
	t.Helper()
	p, err := Tier(name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A tier that grows must be grown on purpose.
func TestTiersAreAsLargeAsMeantToBe(t *testing.T) {
	for name, want := range map[string]int{"strict": 92, "default": 174, "managed": 191, "compile": 182} {
		if got := tier(t, name).Allows(); len(got) != want {
			t.Errorf("%s allows %d calls; want %d: %s", name, len(got), want, strings.Join(got, " "))
		}
	}
}

func TestTiersPassLint(t *testing.T) {
	for _, name := range Tiers() {
		for _, arch := range []Arch{AMD64, ARM64} {
			p := tier(t, name)
			p.Arch = arch
			for _, f := range Lint(p) {
				if f.Fatal || !strings.Contains(f.Text, "equal to the default") && !strings.Contains(f.Text, "does not exist on") {
					t.Errorf("%s on %s: %s", name, arch, f)
				}
			}
		}
	}
}

// A tier without a call differs from the tier in that call alone.
func TestTierWithout(t *testing.T) {
	for _, name := range Tiers() {
		whole := tier(t, name)
		for _, call := range []string{"read", "clone", "ioctl", "prlimit64"} {
			less, err := TierWithout(name, call)
			if err != nil {
				t.Fatal(err)
			}
			want := slices.DeleteFunc(whole.Allows(), func(n string) bool { return n == call })
			if got := less.Allows(); !slices.Equal(got, want) {
				t.Errorf("%s without %s allows %v", name, call, got)
			}
			if err := Validate(less); err != nil {
				t.Error(err)
			}
		}
	}
	less, err := TierWithout("managed", "inotify_init1")
	if err != nil {
		t.Fatal(err)
	}
	if d := NewModel(less).Decide(Call{Nr: 294, Arch: less.Arch.Or().Audit()}); d.Answer != Fail(ENOSYS) {
		t.Errorf("without its rule inotify_init1 has %s; want what other tiers answer", d.Answer)
	}
}
