package paths

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
)

// PTH-05: every operation on every kind of file does what the program itself could, and the error says why not.
func TestOperationsOnKinds(t *testing.T) {
	tree, dir := newTree(t)
	home := filepath.Join(dir, "own")
	fresh := func(t *testing.T) {
		t.Helper()
		must(t, os.RemoveAll(home))
		must(t, os.Mkdir(home, 0o755))
		must(t, os.WriteFile(home+"/file", []byte("text"), 0o640))
		must(t, os.WriteFile(home+"/unreadable", []byte("x"), 0o200))
		must(t, os.WriteFile(home+"/readonly", []byte("x"), 0o444))
		must(t, os.Mkdir(home+"/empty", 0o755))
		must(t, os.MkdirAll(home+"/full/deep", 0o755))
		must(t, os.WriteFile(home+"/full/deep/x", []byte("x"), 0o644))
		must(t, os.Mkdir(home+"/shut", 0o000))
		must(t, unix.Mkfifo(home+"/fifo", 0o666))
		must(t, unix.Mknod(home+"/socket", unix.S_IFSOCK|0o666, 0))
		for name, to := range map[string]string{
			"link": "file", "absolute": "/own/file", "up": "../../../../etc/passwd", "nowhere": "nothing", "circle": "circle",
			"dirlink": "full", "toshadow": "/etc/shadow", "todevice": "/dev/zero", "tofifo": "fifo",
		} {
			must(t, os.Symlink(to, home+"/"+name))
		}
		own(t, tree, dir)
	}

	const ok, missing, denied, conflict = api.Code(""), api.CodeNotFound, api.CodeFileDenied, api.CodeFileConflict
	ops := []struct {
		name string
		do   func(name string) error
	}{
		{"stat", func(n string) error { _, err := tree.Status(n, false); return err }},
		{"get", func(n string) error { _, err := get(tree, n); return err }},
		{"put", func(n string) error { return put(tree, n, "new", nil) }},
		{"list", func(n string) error {
			_, err := tree.List(t.Context(), n, api.PathListing{Depth: 2, Limit: 10})
			return err
		}},
		{"mkdir", func(n string) error { _, err := tree.MakeDir(n, nil); return err }},
		{"link", func(n string) error { return tree.Link(n, "/anything") }},
		{"move", func(n string) error { return tree.Move(n, "/tmp/moved", true) }},
		{"onto", func(n string) error { return tree.Move("/own/file", n, false) }},
		{"remove", func(n string) error { return tree.Remove(t.Context(), n, false) }},
		{"purge", func(n string) error { return tree.Remove(t.Context(), n, true) }},
	}
	for _, tt := range []struct {
		path string
		want [10]api.Code // in the order of ops
	}{
		//                       stat     get       put       list      mkdir     link      move      onto      remove    purge
		{"/own/file", [10]api.Code{ok, ok, ok, conflict, conflict, conflict, ok, conflict, ok, ok}},
		{"/own/unreadable", [10]api.Code{ok, denied, ok, conflict, conflict, conflict, ok, conflict, ok, ok}},
		{"/own/readonly", [10]api.Code{ok, ok, denied, conflict, conflict, conflict, ok, conflict, ok, ok}},
		{"/own/empty", [10]api.Code{ok, conflict, conflict, ok, ok, conflict, ok, conflict, ok, ok}},
		{"/own/full", [10]api.Code{ok, conflict, conflict, ok, ok, conflict, ok, conflict, conflict, ok}},
		{"/own/shut", [10]api.Code{ok, conflict, conflict, denied, ok, conflict, denied, conflict, ok, ok}}, // a directory that moves is changed
		{"/own/shut/x", [10]api.Code{denied, denied, denied, denied, denied, denied, denied, denied, denied, denied}},
		{"/own/fifo", [10]api.Code{ok, conflict, ok, conflict, conflict, conflict, ok, conflict, ok, ok}},
		{"/own/socket", [10]api.Code{ok, conflict, ok, conflict, conflict, conflict, ok, conflict, ok, ok}},
		{"/own/link", [10]api.Code{ok, ok, ok, conflict, conflict, conflict, ok, conflict, ok, ok}},
		{"/own/absolute", [10]api.Code{ok, ok, ok, conflict, conflict, conflict, ok, conflict, ok, ok}},
		{"/own/up", [10]api.Code{ok, ok, ok, conflict, conflict, conflict, ok, conflict, ok, ok}},
		{"/own/nowhere", [10]api.Code{ok, missing, ok, missing, conflict, conflict, ok, conflict, ok, ok}},
		{"/own/circle", [10]api.Code{ok, denied, ok, denied, denied, conflict, ok, conflict, ok, ok}},
		{"/own/dirlink", [10]api.Code{ok, conflict, ok, ok, ok, conflict, ok, conflict, ok, ok}},
		{"/own/dirlink/deep/x", [10]api.Code{ok, ok, ok, conflict, conflict, conflict, ok, conflict, ok, ok}},
		{"/own/toshadow", [10]api.Code{ok, denied, ok, conflict, conflict, conflict, ok, conflict, ok, ok}},
		{"/own/todevice", [10]api.Code{ok, conflict, ok, conflict, conflict, conflict, ok, conflict, ok, ok}},
		{"/own/tofifo", [10]api.Code{ok, conflict, ok, conflict, conflict, conflict, ok, conflict, ok, ok}},
		{"/own/new", [10]api.Code{missing, missing, ok, missing, ok, ok, missing, ok, missing, missing}},
		{"/own/a/b/c", [10]api.Code{missing, missing, ok, missing, ok, ok, missing, ok, missing, missing}},
		{"/own/file/x", [10]api.Code{conflict, conflict, conflict, conflict, conflict, conflict, conflict, conflict, conflict, conflict}},
		{"/etc/passwd", [10]api.Code{ok, ok, denied, conflict, conflict, conflict, denied, conflict, denied, denied}},
		{"/etc/shadow", [10]api.Code{ok, denied, denied, conflict, conflict, conflict, denied, conflict, denied, denied}},
		{"/etc/new", [10]api.Code{missing, missing, denied, missing, denied, denied, missing, denied, missing, missing}},
		{"/closed", [10]api.Code{ok, conflict, conflict, denied, ok, conflict, denied, conflict, denied, denied}},
		{"/closed/file", [10]api.Code{denied, denied, denied, denied, denied, denied, denied, denied, denied, denied}},
		{"/dev/zero", [10]api.Code{ok, conflict, denied, conflict, conflict, conflict, denied, conflict, denied, denied}},
		{"/", [10]api.Code{ok, conflict, conflict, ok, ok, conflict, denied, conflict, denied, denied}},
	} {
		for i, op := range ops {
			fresh(t)
			must(t, os.RemoveAll(filepath.Join(dir, "tmp/moved")))
			if got := codeOf(op.do(tt.path)); got != tt.want[i] {
				t.Errorf("%s of %s: %q; want %q", op.name, tt.path, got, tt.want[i])
			}
		}
	}
	for name, want := range map[string]string{"etc/shadow": "secret", "etc/passwd": "names", "closed/file": "closed"} {
		if b, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(b) != want {
			t.Errorf("%s: %q, %v", name, b, err)
		}
	}
}
