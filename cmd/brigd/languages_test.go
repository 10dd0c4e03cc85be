package main

import (
	"slices"
	"testing"

	"github.com/brig-sandbox/brig/rootfs/languages"
	"github.com/brig-sandbox/brig/seccomp"
)

// An agent parses its own manifests only when they are needed, and does not look at their tiers then.
func TestBuiltInManifestsNameTiersThatExist(t *testing.T) {
	known, err := languages.Load("", nil)
	if err != nil {
		t.Fatal(err)
	}

	for _, l := range known.All() {
		tiers := []string{l.Tier}
		if len(l.Compile) > 0 {
			tiers = append(tiers, l.CompileTier)
		}
		if l.Packages != nil && l.Packages.Tier != "" {
			tiers = append(tiers, l.Packages.Tier)
		}
		for _, tier := range tiers {
			if !slices.Contains(seccomp.Tiers(), tier) {
				t.Errorf("%s: tier %q does not exist", l.Name, tier)
			}
		}
	}
}
