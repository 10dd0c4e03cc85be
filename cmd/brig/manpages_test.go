package main

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/brig-sandbox/brig/internal/usage"
)

// Every command and subcommand has a page, and every flag is in the manual and in
// each completion.
func TestPagesAreComplete(t *testing.T) {
	all := commandPages(commands())
	var have []string
	for _, p := range all {
		have = append(have, p.Name)
		if !strings.Contains(p.Text, "\nUsage:\n  ") {
			t.Errorf("%s has no usage", p.Name)
		}
		if !strings.Contains(p.Text, "\nExample") {
			t.Errorf("%s has no example", p.Name)
		}
	}
	for _, name := range names(commands()) {
		if !slices.Contains(have, "brig "+name) {
			t.Errorf("brig %s has no page", name)
		}
	}
	for _, name := range []string{"brig rootfs build", "brig profile explain", "brig key new"} {
		if !slices.Contains(have, name) {
			t.Errorf("%s has no page", name)
		}
	}
	man := manPages()
	if len(man) != len(all)+1 || !strings.Contains(man["brig.1"], `selftest`) || !strings.Contains(man["brig.1"], `brig\-rootfs\-gc(1)`) {
		t.Errorf("the manual has %d pages of %d commands; brig.1 is\n%s", len(man), len(all), man["brig.1"])
	}
	zsh, fish := usage.Zsh("brig", all), usage.Fish("brig", all)
	flags := 0
	for _, p := range all {
		offered := bashOffers(t, all, p.Name+" -")
		p.Flags.VisitAll(func(g *pflag.Flag) {
			flags++
			for where, has := range map[string]bool{
				"the manual": strings.Contains(man[p.Title()+".1"], `\-\-`+strings.ReplaceAll(g.Name, "-", `\-`)),
				"bash":       slices.Contains(offered, "--"+g.Name) && (g.Shorthand == "" || slices.Contains(offered, "-"+g.Shorthand)),
				"zsh":        strings.Contains(zsh, "--"+g.Name),
				"fish":       strings.Contains(fish, "__brig_at "+strings.TrimPrefix(p.Name, "brig ")+"' -l "+g.Name+" "),
			} {
				if !has {
					t.Errorf("%s does not have --%s of %s", where, g.Name, p.Name)
				}
			}
		})
	}
	if flags < 60 {
		t.Errorf("%d flags were looked at: where are the others?", flags)
	}
}

// bashOffers returns the completions that bash offers for a line.
func bashOffers(t *testing.T, all []usage.Page, line string) []string {
	t.Helper()
	cmd := exec.Command("bash", "--norc")
	cmd.Stdin = strings.NewReader(usage.Bash("brig", all) +
		"\nCOMP_WORDS=(" + line + ")\nCOMP_CWORD=$((${#COMP_WORDS[@]}-1))\n_brig\necho \"${COMPREPLY[*]}\"\n")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return strings.Fields(string(out))
}
