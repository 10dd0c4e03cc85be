package main

import (
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	words := []string{"run", "rootfs", "profile", "doctor", "language", "ls", "get", "probe", "--host", "--listen"}
	for _, tt := range []struct{ claim, name, want string }{
		{"a swap is one slip", "docotr", ": did you mean doctor?"},
		{"a letter too few", "profle", ": did you mean profile?"},
		{"a beginning is completed", "lang", ": did you mean language?"},
		{"of two with one beginning none is guessed", "pro", ""},
		{"other programs call it so", "list", ": did you mean ls?"},
		{"two slips of three letters are another word", "new", ""},
		{"what is far is not guessed", "teleport", ""},
		{"every letter wrong is not near", "ab", ""},
		{"a part of another flag", "--port", ": the port is a part of --listen, such as --listen 127.0.0.1:9000"},
		{"a flag that others call so", "--bind", ": did you mean --listen?"},
		{"nothing is near nothing", "", ""},
	} {
		if got := nearest(tt.name, words); got != tt.want {
			t.Errorf("%s: nearest(%q) = %q; want %q", tt.claim, tt.name, got, tt.want)
		}
	}
	if got := nearest("--port", []string{"--host"}); got == "" || strings.Contains(got, "--listen") {
		t.Errorf("where there is no --listen: %q", got)
	}
}
