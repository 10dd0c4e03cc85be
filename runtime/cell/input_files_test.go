package cell

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
)

// FIO-11: an input is an error if a link is in its place or above it: the target of the link stays
// as it was. The control writes by path.
func TestInputsArePlacedThroughNoLink(t *testing.T) {
	top := t.TempDir()
	victim, outside := filepath.Join(top, "victim"), filepath.Join(top, "outside")
	box := filepath.Join(top, "box")
	for _, d := range []string{outside, box} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}

	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	write(victim, "as it was")
	write(filepath.Join(box, "file"), "first")
	for name, to := range map[string]string{"absolute": victim, "relative": "../victim", "dangling": filepath.Join(top, "new"), "dir": outside,
		"inside": "file", "self": "self"} {
		if err := os.Symlink(to, filepath.Join(box, name)); err != nil {
			t.Fatal(err)
		}
	}

	dir, err := os.Open(box)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()

	for _, name := range []string{"absolute", "relative", "dangling", "dir/new", "dir/deep/new", "inside", "self", "file", "absolute/new"} {
		if _, err := placeFiles(dir, []api.File{{Name: name, Content: api.Bytes("input")}}, nil, nil, os.Getuid(), os.Getgid()); err == nil {
			t.Errorf("%s was placed", name)
		}
	}

	if text, err := os.ReadFile(victim); err != nil || string(text) != "as it was" {
		t.Errorf("the victim holds %q, %v", text, err)
	}
	if text, err := os.ReadFile(filepath.Join(box, "file")); err != nil || string(text) != "first" {
		t.Errorf("a file that was there holds %q, %v", text, err)
	}
	if left, err := os.ReadDir(outside); err != nil || len(left) != 0 {
		t.Errorf("outside: %v, %v", left, err)
	}
	if _, err := os.Lstat(filepath.Join(top, "new")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("where the dangling link leads: %v", err)
	}
	if _, err := placeFiles(dir, []api.File{{Name: "deep/er/in", Content: api.Bytes("input")}}, nil, nil, os.Getuid(),
		os.Getgid()); err != nil {
		t.Errorf("with nothing in the way: %v", err)
	}

	write(filepath.Join(box, "relative"), "by path")
	if text, err := os.ReadFile(victim); err != nil || string(text) != "by path" {
		t.Errorf("by path the victim holds %q, %v: the test proves nothing", text, err)
	}
}

// An input that is changed within the clock tick in which it was placed keeps its ctime: its mtime
// shows the change.
func TestChangeWithinPlacementTickIsDetected(t *testing.T) {
	dir := t.TempDir()
	box, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer box.Close()

	placed, err := placeFiles(box, []api.File{{Name: "in", Content: api.Bytes("old")}}, nil, nil, os.Getuid(), os.Getgid())
	if err != nil {
		t.Fatal(err)
	}

	look := func() Stamp {
		var st unix.Stat_t
		if err := unix.Stat(filepath.Join(dir, "in"), &st); err != nil {
			t.Fatal(err)
		}
		return StampOf(&st)
	}
	if look() != placed["in"].Stamp {
		t.Fatal("an input that nobody touched has changed")
	}
	if err := os.WriteFile(filepath.Join(dir, "in"), []byte("new"), 0o644); err != nil {
		t.Fatal(err)
	}

	now := look()
	now.ctime = placed["in"].ctime
	if now == placed["in"].Stamp {
		t.Error("a change within one tick of the clock is not seen")
	}
}
