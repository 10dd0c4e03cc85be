package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/brig-sandbox/brig/api"
)

// The ratio is that of the two tiers in the same round: rounds of a loaded machine do not distort it.
func TestTierTableComparesWithinRounds(t *testing.T) {
	p := &tierPair{name: "c/hello.c", own: api.Run{Profile: "default"}, inOwn: row{p50: []float64{1000, 8000, 2000}},
		inStrict: row{p50: []float64{900, 4000, 1800}}}
	if lines := tierTable([]*tierPair{p}); !slices.Contains(lines, "| c/hello.c | default | 2.00 | 1.80 | 0.90x |") {
		t.Errorf("%q", lines)
	}
}

// A program that is renamed would silently drop out of the table.
func TestTierProgramsExist(t *testing.T) {
	for language, want := range map[string]int{"c": len(tierPrograms), "cpp": 3} {
		n := 0
		for _, name := range tierPrograms {
			if _, err := os.Stat(filepath.Join("..", "..", programs, language, name+"."+language)); err == nil {
				n++
			}
		}
		if n != want {
			t.Errorf("%s has %d of the programs %v; want %d", language, n, tierPrograms, want)
		}
	}
}
