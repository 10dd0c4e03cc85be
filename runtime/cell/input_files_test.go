package cell

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/runtime/plan"
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

// An input below a name that is also a link is refused: links are placed last, and no input goes through one.
func TestLinksArePlacedLast(t *testing.T) {
	top := t.TempDir()
	for _, d := range []string{"box", "tmp", "outside"} {
		if err := os.Mkdir(filepath.Join(top, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.Open(top)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	box, err := os.Open(filepath.Join(top, "box"))
	if err != nil {
		t.Fatal(err)
	}
	defer box.Close()
	s := &Scratch{Root: root, Box: box}

	outside := filepath.Join(top, "outside")
	placed, err := s.PlaceFiles(&plan.Run{Files: []api.File{
		{Name: "out", Link: outside}, {Name: "deep/in", Link: "/dev/stdin"}, {Name: "file", Content: api.Bytes("a")},
		{Name: "/tmp/deep/file", Content: api.Bytes("b"), Executable: true}, {Name: "/tmp/way", Link: "../box/file"},
	}}, os.Getuid(), os.Getgid())
	if err != nil {
		t.Fatal(err)
	}
	if len(placed) != 3 || !placed["out"].Link || !placed["deep/in"].Link || placed["file"].Link {
		t.Errorf("placed are %+v", placed)
	}
	for name, want := range map[string]string{"box/out": outside, "box/deep/in": "/dev/stdin", "tmp/way": "../box/file"} {
		if to, err := os.Readlink(filepath.Join(top, name)); err != nil || to != want {
			t.Errorf("%s leads to %q, %v", name, to, err)
		}
	}
	for name, want := range map[string]string{"box/file": "a", "tmp/deep/file": "b", "tmp/way": "a"} {
		if text, err := os.ReadFile(filepath.Join(top, name)); err != nil || string(text) != want {
			t.Errorf("%s holds %q, %v", name, text, err)
		}
	}

	for _, files := range [][]api.File{
		{{Name: "out2", Link: outside}, {Name: "out2/new", Content: api.Bytes("x")}},
		{{Name: "out/new", Content: api.Bytes("x")}}, // through the link of the first call
		{{Name: "/tmp/out", Link: outside}, {Name: "/tmp/out/new", Content: api.Bytes("x")}},
	} {
		_, err := s.PlaceFiles(&plan.Run{Files: files}, os.Getuid(), os.Getgid())
		if at := (*placeError)(nil); !errors.As(err, &at) {
			t.Errorf("%+v: %v", files, err)
		}
	}
	if left, err := os.ReadDir(outside); err != nil || len(left) != 0 {
		t.Errorf("outside: %v, %v", left, err)
	}
}
