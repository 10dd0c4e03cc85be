package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/brig-sandbox/brig/cmd/brig/cli"
	"github.com/brig-sandbox/brig/internal/usage"
)

// Every command and subcommand has a page, and every flag is in the manual.
func TestPagesAreComplete(t *testing.T) {
	all := commandPages()
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

	for _, name := range cli.Names(commands()) {
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

	flags := 0
	for _, p := range all {
		p.Flags.VisitAll(func(g *pflag.Flag) {
			flags++
			if has := strings.Contains(man[p.Title()+".1"], `\-\-`+strings.ReplaceAll(g.Name, "-", `\-`)); has == g.Hidden {
				t.Errorf("the manual has --%s of %s: %v", g.Name, p.Name, has)
			}
		})
	}

	if flags < 60 {
		t.Errorf("%d flags were looked at: where are the others?", flags)
	}
}

// A long help has its flags below headings, each of them, and no heading names a flag that no command has.
func TestLongHelpsHaveSections(t *testing.T) {
	used := map[string]bool{}
	seen := 0
	for _, p := range commandPages() {
		p.Flags.VisitAll(func(g *pflag.Flag) { used[g.Name] = true })
		if len(p.Sections) == 0 {
			continue
		}

		seen++
		if text := p.Help(); strings.Contains(text, usage.Other+":\n") {
			t.Errorf("flags of %s are in no section:\n%s", p.Name, text)
		}
	}

	if seen != len(cli.Sections) {
		t.Errorf("%d commands have sections, of %d", seen, len(cli.Sections))
	}
	for command, all := range cli.Sections {
		for _, s := range all {
			for _, name := range s.Flags {
				if !used[name] {
					t.Errorf("%s: no command has --%s", command, name)
				}
			}
		}
	}
}
