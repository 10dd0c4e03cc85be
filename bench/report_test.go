package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestReplaceBlockKeepsWhatIsAround(t *testing.T) {
	name := filepath.Join(t.TempDir(), "doc.md")
	for _, tt := range []struct {
		old, want string
		ok        bool
	}{
		{"a\n" + blockBegin + "\n" + blockEnd + "\nz\n", "a\n" + blockBegin + "\nnew\n" + blockEnd + "\nz\n", true},
		{"a\n" + blockBegin + "\nold\nold\n" + blockEnd + "z", "a\n" + blockBegin + "\nnew\n" + blockEnd + "z", true},
		{"no block", "no block", false},
		{blockBegin + "\nno end", blockBegin + "\nno end", false},
	} {
		if err := os.WriteFile(name, []byte(tt.old), 0o644); err != nil {
			t.Fatal(err)
		}
		err := replaceBlock(name, "new")
		got, rerr := os.ReadFile(name)
		if rerr != nil || (err == nil) != tt.ok || string(got) != tt.want {
			t.Errorf("%q becomes %q, %v; want %q", tt.old, got, err, tt.want)
		}
	}
}

func TestFiguresKnowTheirBound(t *testing.T) {
	for _, tt := range []struct {
		f    figure
		want bool
	}{
		{figure{value: 2, target: 3}, true}, {figure{value: 4, target: 3}, false}, {figure{value: 0, target: 0}, true},
		{figure{value: 34, target: 33, atLeast: true}, true}, {figure{value: 32, target: 33, atLeast: true}, false},
		{figure{value: 500, target: 500, atLeast: true}, true},
	} {
		if tt.f.met() != tt.want {
			t.Errorf("%+v met: %v", tt.f, !tt.want)
		}
	}
}
