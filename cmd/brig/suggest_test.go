package main

import (
	"regexp"
	"testing"

	"github.com/spf13/pflag"
)

func TestSuggestion(t *testing.T) {
	words := []string{"run", "rootfs", "profile", "doctor", "language", "ls", "get", "probe", "file", "cpu", "json", "env"}
	for _, tt := range []struct{ claim, name, want string }{
		{"a swap is one slip", "docotr", ": did you mean doctor?"},
		{"a letter too few", "profle", ": did you mean profile?"},
		{"a beginning is completed", "lang", ": did you mean language?"},
		{"of two with one beginning none is guessed", "pro", ""},
		{"other programs call it so", "list", ": did you mean ls?"},
		{"two slips of three letters are another word", "new", ""},
		{"one slip of three letters is another word", "csv", ""},
		{"nor is net env", "net", ""},
		{"two slips of four letters are another word", "time", ""},
		{"one slip of four letters is near", "jsno", ": did you mean json?"},
		{"what is far is not guessed", "teleport", ""},
		{"every letter wrong is not near", "ab", ""},
		{"nothing is near nothing", "", ""},
	} {
		if got := suggestion(tt.name, words); got != tt.want {
			t.Errorf("%s: nearest(%q) = %q; want %q", tt.claim, tt.name, got, tt.want)
		}
	}
}

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
	for _, c := range flagRemedies {
		if !have[c.requires] {
			t.Errorf("the cure of %s is for commands with --%s, which none has", c.flags, c.requires)
		}
		for _, m := range named.FindAllStringSubmatch(c.text, -1) {
			if !have[m[1]] {
				t.Errorf("the cure of %s names --%s, which no command has", c.flags, m[1])
			}
		}
	}
}
