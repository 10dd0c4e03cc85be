package main

import (
	"slices"
	"strings"
	"testing"
)

// Every capability that is missing is named with its use, and no other.
func TestMissingCapabilitiesAreNamed(t *testing.T) {
	const all = ^uint64(0)
	if err := missing(all); err != nil {
		t.Errorf("with all of them: %v", err)
	}
	for _, c := range needed {
		err := missing(all &^ (1 << c.number))
		if err == nil || !strings.Contains(err.Error(), c.name+" (to "+c.use+")") || strings.Count(err.Error(), "CAP_") != 1 {
			t.Errorf("without %s: %v", c.name, err)
		}
	}
	if err := missing(0); err == nil || strings.Count(err.Error(), "CAP_") != len(needed) {
		t.Errorf("without any: %v; want all %d", err, len(needed))
	}
	if !slices.IsSortedFunc(needed, func(a, b capability) int { return a.number - b.number }) {
		t.Error("they are not in the order of their numbers")
	}
}

func TestAFilterOfTheContainerIsSeen(t *testing.T) {
	for status, want := range map[string]bool{
		"Name:\tbrigd\nSeccomp:\t0\nSeccomp_filters:\t0\n": false,
		"Name:\tbrigd\nSeccomp:\t2\nSeccomp_filters:\t1\n": true,
		"Name:\tbrigd\n": false,
	} {
		if got := filtered(status); got != want {
			t.Errorf("%q: %t", status, got)
		}
	}
}
