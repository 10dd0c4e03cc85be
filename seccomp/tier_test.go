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

// allowed lists the calls that p allows for some arguments.
func allowed(p Profile) []string {
	var out []string
	for _, r := range p.Rules {
		if r.Action == ActAllow {
			out = append(out, r.Names...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// A tier that grows must be grown on purpose.
func TestTiersAreAsLargeAsMeantToBe(t *testing.T) {
	for name, want := range map[string]int{"strict": 91, "default": 173, "managed": 191, "compile": 181} {
		if got := allowed(tier(t, name)); len(got) != want {
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
