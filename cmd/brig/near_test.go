package main

import "testing"

func TestNearest(t *testing.T) {
	words := []string{"run", "rootfs", "profile", "doctor"}
	for _, tt := range []struct{ claim, name, want string }{
		{"a swap is one slip", "docotr", ": did you mean doctor?"},
		{"a letter too few", "profle", ": did you mean profile?"},
		{"what is far is not guessed", "teleport", ""},
		{"every letter wrong is not near", "ab", ""},
		{"nothing is near nothing", "", ""},
	} {
		if got := nearest(tt.name, words); got != tt.want {
			t.Errorf("%s: nearest(%q) = %q; want %q", tt.claim, tt.name, got, tt.want)
		}
	}
}
