package languages

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/seccomp"
)

const (
	tiersPage = "../../../docs/reports/tiers.md"
	tiersHead = `# Which program needs each call of a tier

` + "`make tiers`" + ` writes this page. For each tier it removes one call, or one argument that a rule
compares, and then runs ordinary programs until one of them fails twice. The table names that
program. If no program fails, ` + "`make tiers`" + ` fails.

The programs are those of testdata/languages, which use the library of their language, and the
compilers that compile them. ` + "`(musl)`" + ` marks the C program with the C library of Alpine instead of
glibc. ` + "`c sockets`" + ` is testdata/network/sockets.c. No language uses ` + "`strict`" + ` by default: it is
measured with the programs of compiled languages that need only one process. ` + "`managed`" + ` and
` + "`compile`" + ` allow everything that ` + "`default`" + ` allows, and ` + "`network`" + ` allows everything that ` + "`managed`" + `
allows; their tables have only what they allow in addition.

A row that names ` + "`c machine`" + ` rests on a list of calls and not on a program with a task: c/machine.c
reads facts about itself and its machine, and gives hints for memory. Such a row shows that the call
works and that a function of the library needs it, not that a task fails without it.

` + "`brig profile explain CALL`" + ` says why a call is allowed, and with which arguments.
`
)

// tierBelow names the tier that a tier extends.
var tierBelow = map[string]string{"managed": "default", "compile": "default", "network": "managed"}

// tierGrants returns what a tier allows on this machine, without what the tier below it allows.
func tierGrants(t testing.TB, tier string) []seccomp.Grant {
	t.Helper()
	p, err := seccomp.Tier(tier)
	if err != nil {
		t.Fatal(err)
	}

	var below []string
	if lower := tierBelow[tier]; lower != "" {
		p, err := seccomp.Tier(lower)
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range p.Grants() {
			below = append(below, g.String())
		}
	}

	return slices.DeleteFunc(p.Grants(), func(g seccomp.Grant) bool {
		_, here := seccomp.Number(g.Call, p.Arch)
		return !here || slices.Contains(below, g.String())
	})
}

// tiersKnown parses the page: tier and grant, then the program that needs it.
func tiersKnown(t testing.TB) map[string]string {
	t.Helper()
	text, err := os.ReadFile(tiersPage)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
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

// What a tier gains is listed in the page with the program that needs it, and what it loses is not
// listed.
func TestTiersPageNamesEveryGrant(t *testing.T) {
	known := tiersKnown(t)
	for _, tier := range seccomp.Tiers() {
		for _, g := range tierGrants(t, tier) {
			if known[tier+" "+g.String()] == "" {
				t.Errorf("docs/reports/tiers.md does not say what needs %s under %s: make tiers", g, tier)
			}
			delete(known, tier+" "+g.String())
		}
	}
	for row := range known {
		t.Errorf("docs/reports/tiers.md has %s, which is not allowed: make tiers", row)
	}
}

// The page begins as make tiers would write it: the text says what the programs are, and which of
// them are lists of calls.
func TestTiersPageBeginsAsWritten(t *testing.T) {
	text, err := os.ReadFile(tiersPage)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(text), tiersHead) {
		t.Fatal("docs/reports/tiers.md does not begin with tiersHead: make tiers, or copy it")
	}
	if rows := string(text[len(tiersHead):]); !strings.Contains(rows, "| c machine") || strings.Contains(rows, "| python machine") {
		t.Error("the text of docs/reports/tiers.md says that rows rest on c/machine.c and none on python/machine.py")
	}
}
