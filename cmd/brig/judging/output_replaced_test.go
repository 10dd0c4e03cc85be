package judging

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/brig-sandbox/brig/cmd/brig/cli"
	"github.com/brig-sandbox/brig/judge/problem"
)

func TestReplaceOutput(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "f.zip")
	expect := func(when, text string, mode os.FileMode) {
		t.Helper()
		got, err := os.ReadFile(name)
		if err != nil || string(got) != text {
			t.Errorf("%s the file has %q (%v), want %q", when, got, err, text)
		}
		if info, err := os.Stat(name); err != nil || info.Mode() != mode {
			t.Errorf("%s the file has the mode %v (%v), want %v", when, info.Mode(), err, mode)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
			t.Errorf("%s %v is left (%v), want one name", when, left, err)
		}
	}

	text := func(s string, err error) func(io.Writer) error {
		return func(w io.Writer) error {
			_, bad := io.WriteString(w, s)
			return errors.Join(bad, err)
		}
	}

	defer syscall.Umask(syscall.Umask(0o027))

	if err := replaceOutput(name, text("first", nil)); err != nil {
		t.Fatal(err)
	}

	expect("once written,", "first", 0o640)
	if err := os.Chmod(name, 0o604); err != nil {
		t.Fatal(err)
	}
	if err := replaceOutput(name, text("sec", syscall.ENOSPC)); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("a full disk: %v", err)
	}

	expect("after a full disk", "first", 0o604)
	if err := replaceOutput(name, text("second", nil)); err != nil {
		t.Fatal(err)
	}

	expect("replaced,", "second", 0o604)
	if err := os.Link(name, name+".too"); err != nil {
		t.Fatal(err)
	}
	if err := replaceOutput(name, text("third", nil)); err == nil {
		t.Error("a file with two names was replaced")
	}
	if err := os.Remove(name + ".too"); err != nil {
		t.Fatal(err)
	}

	expect("refused,", "second", 0o604)
}

// A package that is being packed when a signal comes leaves the earlier archive, and nothing else.
func TestPackingIsInterrupted(t *testing.T) {
	dir, name := t.TempDir(), filepath.Join(t.TempDir(), "f.zip")
	for _, file := range []string{filepath.Join(dir, "1.in"), name} {
		if err := os.WriteFile(file, []byte("old"), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	tree, err := problem.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()

	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cli.Interrupted{Signal: syscall.SIGINT})
	var s cli.Interrupted
	if _, err := writePackage(ctx, name, tree); !errors.As(err, &s) {
		t.Errorf("%v, want that it was interrupted", err)
	}
	if got, err := os.ReadFile(name); err != nil || string(got) != "old" {
		t.Errorf("the file has %q (%v)", got, err)
	}
	if left, err := os.ReadDir(filepath.Dir(name)); err != nil || len(left) != 1 {
		t.Errorf("%v is left (%v), want one name", left, err)
	}
	if _, err := writePackage(t.Context(), name, tree); err != nil {
		t.Fatal(err)
	}
	if packed, err := problem.Open(name); err != nil {
		t.Error(err)
	} else if err := packed.Close(); err != nil {
		t.Error(err)
	}
}
