package durable

import (
	"os"
	"path/filepath"
	"testing"
)

func TestReplace(t *testing.T) {
	dir := t.TempDir()
	name, other := filepath.Join(dir, "f"), filepath.Join(dir, "other")
	if err := os.WriteFile(other, []byte("other"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(other, name); err != nil {
		t.Fatal(err)
	}

	for _, text := range []string{"first", "second"} {
		if err := Replace(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(name)
		if err != nil || string(got) != text {
			t.Errorf("the file has %q (%v), want %q", got, err, text)
		}
	}

	info, err := os.Lstat(name)
	if err != nil || info.Mode() != 0o600 {
		t.Errorf("the file has the mode %v (%v)", info.Mode(), err)
	}
	if got, err := os.ReadFile(other); err != nil || string(got) != "other" {
		t.Errorf("what the link led to has %q (%v)", got, err)
	}
	if err := os.Mkdir(filepath.Join(dir, "taken"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := Replace(filepath.Join(dir, "taken"), nil, 0o600); err == nil {
		t.Error("a directory was replaced")
	}

	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 3 {
		t.Errorf("%v is left (%v), want three names", left, err)
	}
}
