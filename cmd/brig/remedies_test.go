package main

import (
	"regexp"
	"testing"

	"github.com/spf13/pflag"

	"github.com/brig-sandbox/brig/internal/remedies"
)

// Every cure belongs to a flag that some command has, and names only flags that exist.
func TestRemediesNameFlagsThatExist(t *testing.T) {
	have := map[string]bool{}
	for _, p := range commandPages() {
		if p.Flags != nil {
			p.Flags.VisitAll(func(f *pflag.Flag) { have[f.Name] = true })
		}
	}

	have["slots"] = true // a flag of brigd
	named := regexp.MustCompile(`--([a-z-]+)`)
	for _, c := range remedies.OfFlags() {
		if !have[c.Requires] {
			t.Errorf("the cure of %s is for commands with --%s, which none has", c.Flags, c.Requires)
		}
		for _, m := range named.FindAllStringSubmatch(c.Text, -1) {
			if !have[m[1]] {
				t.Errorf("the cure of %s names --%s, which no command has", c.Flags, m[1])
			}
		}
	}
}
