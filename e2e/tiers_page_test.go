package e2e

import (
	"os"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/seccomp"
)

const (
	tiersPage = "../docs/tiers.md"
	tiersHead = `# What needs each call of a tier

Written by ` + "`make tiers`" + `, which takes each call away from each tier, runs programs until
one fails, and fails itself where none does. ` + "`needs CALL`" + ` is a focussed program
of e2e/testdata/tiers; the others are the languages' programs of e2e/testdata/languages.
Why a call is allowed at all, and with which arguments: ` + "`brig profile explain CALL`" + `.
`
)

// tiersKnown reads the page: tier and call, then the program that needs it.
func tiersKnown(t testing.TB) map[string]string {
	t.Helper()
	text, err := os.ReadFile(tiersPage)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	known, tier := map[string]string{}, ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, "## "); ok {
			tier = name
		}
		if cells := strings.Split(line, " | "); tier != "" && len(cells) == 2 && !strings.HasPrefix(line, "| without") {
			known[tier+" "+strings.TrimPrefix(cells[0], "| ")] = strings.TrimSuffix(cells[1], " |")
		}
	}
	return known
}

// A call that a tier gains is in the page with what needs it, and what it loses is not.
func TestTiersPageNamesEveryCall(t *testing.T) {
	known := tiersKnown(t)
	for _, tier := range seccomp.Tiers() {
		p, err := seccomp.Tier(tier)
		if err != nil {
			t.Fatal(err)
		}
		for _, call := range p.Allows() {
			if known[tier+" "+call] == "" {
				t.Errorf("docs/tiers.md does not say what needs %s under %s: make tiers", call, tier)
			}
			delete(known, tier+" "+call)
		}
	}
	for row := range known {
		t.Errorf("docs/tiers.md has %s, which is not allowed: make tiers", row)
	}
}
