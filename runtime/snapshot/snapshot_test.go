package snapshot

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/testenv"
	"github.com/brig-sandbox/brig/runtime/linux"
	"github.com/brig-sandbox/brig/runtime/mount"
	"github.com/brig-sandbox/brig/runtime/paths"
	"github.com/brig-sandbox/brig/runtime/plan"
)

var (
	program = plan.SlotIDs(plan.MaxSlot+77) + plan.UID
	owner   = Owner{UID: 1000, Space: "key:a"}
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// newPlaces makes what the scratch of a session is: a tmpfs with box and tmp, which belong to the program.
func newPlaces(t testing.TB) (root *os.File, dir string) {
	t.Helper()
	testenv.NeedRoot(t)
	root, err := mount.NewTmpfs(mount.AttrScratch, [2]string{"size", "256m"}, [2]string{"nr_inodes", "200000"}, [2]string{"mode", "0755"})
	must(t, err)
	t.Cleanup(func() { root.Close() })
	dir = paths.ProcFD(root)
	for _, place := range Places() {
		must(t, os.Mkdir(filepath.Join(dir, place), 0o777))
		must(t, os.Lchown(filepath.Join(dir, place), program, program))
	}
	return root, dir
}

// asProgram does what a program of the session could do.
func asProgram(t testing.TB, do func() error) {
	t.Helper()
	must(t, linux.WithRightsOf(program, program, do))
}

func newStore(t testing.TB) *Store {
	t.Helper()
	return New(Config{Dir: t.TempDir()})
}

// save makes a snapshot of a tree.
func save(t testing.TB, s *Store, root *os.File, w *Walk, name string) (api.Snapshot, error) {
	t.Helper()
	draft, err := s.Begin(owner)
	must(t, err)
	w.Root, w.UID = root, program
	to, err := draft.Writer()
	must(t, err)
	var id string
	var counts Counts
	err = linux.WithRightsOf(program, program, func() error { return w.Write(t.Context(), to) })
	if err == nil {
		id, counts, err = to.Finish()
	}
	if err != nil {
		must(t, draft.Discard())
		return api.Snapshot{}, err
	}
	one, err := draft.Commit(api.SnapshotRequest{Name: name}, "sha256:base", "python", id, counts)
	must(t, err)
	return one, nil
}

// load puts a snapshot into a tree.
func load(t testing.TB, s *Store, root *os.File, ref string, among bool) error {
	t.Helper()
	f, _, err := s.Open(owner, ref)
	must(t, err)
	defer f.Close()
	return linux.WithRightsOf(program, program, func() error { return (&Restore{Root: root, Among: among}).Read(t.Context(), f) })
}

// describeTree is what a tree has, as text.
func describeTree(t testing.TB, dir string) string {
	t.Helper()
	var out strings.Builder
	inodes := map[uint64]string{}
	for _, place := range Places() {
		must(t, filepath.Walk(filepath.Join(dir, place), func(p string, i os.FileInfo, err error) error {
			if err != nil {
				return err
			}
			rel := strings.TrimPrefix(p, dir)
			var st unix.Stat_t
			if err := unix.Lstat(p, &st); err != nil {
				return err
			}
			if rel == "/"+place {
				return nil
			}
			fmt.Fprintf(&out, "%s %v %d:%d", rel, i.Mode(), st.Uid, st.Gid)
			switch {
			case i.Mode().IsRegular():
				text := make([]byte, min(i.Size(), 1<<20)) // it may claim 1 TiB
				file, err := os.Open(p)
				if err != nil {
					return err
				}
				defer file.Close()
				if _, err := io.ReadFull(file, text); err != nil {
					return err
				}
				fmt.Fprintf(&out, " %d %x blocks=%d", i.Size(), sha256.Sum256(text), st.Blocks)
			case i.Mode()&os.ModeSymlink != 0:
				to, err := os.Readlink(p)
				if err != nil {
					return err
				}
				out.WriteString(" -> " + to)
			}
			if i.Mode()&os.ModeSymlink == 0 {
				fmt.Fprintf(&out, " %s", i.ModTime().UTC().Format(time.RFC3339Nano))
			}
			if st.Nlink > 1 && !i.IsDir() {
				if inodes[st.Ino] == "" {
					inodes[st.Ino] = rel
				}
				out.WriteString(" = " + inodes[st.Ino])
			}
			out.WriteByte('\n')
			return nil
		}))
	}
	return out.String()
}

// ordinary makes one of everything that a snapshot has.
func ordinary(t testing.TB, dir string) {
	t.Helper()
	asProgram(t, func() error {
		at := func(name string) string { return filepath.Join(dir, name) }
		sparse, err := os.Create(at("box/sparse"))
		if err != nil {
			return err
		}
		defer sparse.Close()
		old := time.Unix(1_000_000_000, 123456789)
		return errors.Join(
			os.MkdirAll(at("box/a/b/c"), 0o755),
			os.WriteFile(at("box/a/file"), []byte("content"), 0o640),
			os.WriteFile(at("box/a/run"), []byte("#!/bin/sh\n"), 0o755),
			os.WriteFile(at("box/empty"), nil, 0o600),
			os.WriteFile(at("box/large"), bytes.Repeat([]byte("0123456789abcde\n"), 30_000), 0o644),
			os.WriteFile(at("box/zeros"), make([]byte, 100_000), 0o644),
			os.WriteFile(at("box/bytes \xff"), []byte("x"), 0o644),
			os.WriteFile(at("box/"+strings.Repeat("n", 255)), []byte("y"), 0o644),
			os.Symlink("../a/file", at("box/a/b/link")), os.Symlink("/etc/passwd", at("tmp/out")),
			os.Link(at("box/a/file"), at("tmp/second")), os.Link(at("box/a/file"), at("tmp/third")),
			os.WriteFile(at("tmp/t"), []byte("t"), 0o644),
			os.Chtimes(at("box/a/file"), old, old),
			sparse.Truncate(1<<40), func() error { _, err := sparse.WriteAt([]byte("end"), 1<<30+5); return err }(),
			os.Chmod(at("box/a/b/c"), 0o500),
		)
	})
}

// A snapshot that is put into another tree gives the same tree, and the same snapshot of it. A hole of 1 TiB costs nothing
// (SNP-05).
func TestRoundTrip(t *testing.T) {
	store := newStore(t)
	root, dir := newPlaces(t)
	ordinary(t, dir)
	made, err := save(t, store, root, &Walk{}, "first")
	must(t, err)
	if made.Stored > 2<<20 || made.Bytes > 1<<20 || made.Files != 18 {
		t.Errorf("a file that claims 1 TiB: %+v", made)
	}

	other, otherDir := newPlaces(t)
	must(t, load(t, store, other, "first", false))
	want, got := describeTree(t, dir), describeTree(t, otherDir)
	want = strings.Replace(want, "blocks=200", "blocks=0", 1) // the zeros that were written are a hole
	if got != want {
		t.Errorf("the tree is\n%s\nwant\n%s", got, want)
	}

	again, err := save(t, store, other, &Walk{}, "")
	must(t, err)
	if again.ID != made.ID || again.Name != "first" {
		t.Errorf("the snapshot of the copy is %+v; want the same as %+v", again, made)
	}
	if all, err := store.List(owner); err != nil || len(all) != 1 {
		t.Errorf("%+v, %v", all, err)
	}
}

// What is different is told, and nothing else, whatever a program does with the times.
func TestDiff(t *testing.T) {
	store := newStore(t)
	root, dir := newPlaces(t)
	ordinary(t, dir)
	_, err := save(t, store, root, &Walk{}, "before")
	must(t, err)
	asProgram(t, func() error {
		at := func(name string) string { return filepath.Join(dir, name) }
		old := time.Unix(1_000_000_000, 123456789)
		return errors.Join(
			os.WriteFile(at("box/a/file"), []byte("CONTENT"), 0o640), os.Chtimes(at("box/a/file"), old, old), // SNP-07
			os.Chtimes(at("box/large"), old, old), // a time alone is no change
			os.Chmod(at("box/a/run"), 0o700),
			os.Remove(at("box/empty")), os.Mkdir(at("box/empty"), 0o755), os.WriteFile(at("box/empty/in"), nil, 0o644),
			os.Remove(at("tmp/out")), os.Symlink("elsewhere", at("tmp/out")),
			os.RemoveAll(at("box/a/b/c")), os.Remove(at("tmp/t")),
			os.WriteFile(at("box/zz"), []byte("new"), 0o644),
			func() error { // the same bytes, written otherwise
				f, err := os.OpenFile(at("box/zeros"), os.O_RDWR|os.O_TRUNC, 0)
				if err != nil {
					return err
				}
				return errors.Join(f.Truncate(100_000), f.Close())
			}(),
		)
	})
	_, err = save(t, store, root, &Walk{}, "after")
	must(t, err)

	was, _, err := store.Open(owner, "before")
	must(t, err)
	defer was.Close()
	is, _, err := store.Open(owner, "after")
	must(t, err)
	defer is.Close()
	var got []string
	tell := func(c api.PathChange) error {
		got = append(got, fmt.Sprintf("%s %s %s %o %d", c.Change, c.Path, c.Kind, c.Mode, c.Size))
		return nil
	}
	must(t, Diff(t.Context(), was, is, tell))
	want := []string{
		"removed /box/a/b/c directory 500 0",
		"modified /box/a/file file 640 7", "modified /box/a/run file 700 10",
		"removed /box/empty file 600 0", "added /box/empty directory 755 0", "added /box/empty/in file 644 0",
		"added /box/zz file 644 3", "modified /tmp/out symlink 0 0", "removed /tmp/t file 644 1",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}

	got = nil
	must(t, Diff(t.Context(), nil, is, tell))
	if len(got) != 16 || !strings.HasPrefix(got[0], "added /box/a directory") {
		t.Errorf("since nothing: %d changes: %q", len(got), got)
	}
	got = nil
	must(t, Diff(t.Context(), is, is, tell))
	if len(got) != 0 {
		t.Errorf("with itself: %q", got)
	}
}

// Only what is named is in a snapshot of paths, with the directories above it.
func TestPaths(t *testing.T) {
	store := newStore(t)
	root, dir := newPlaces(t)
	ordinary(t, dir)
	for _, c := range []struct {
		paths []string
		want  []string
		code  api.Code
	}{
		{[]string{"/box/a"}, []string{"/box/a", "/box/a/b", "/box/a/b/c", "/box/a/b/link", "/box/a/file", "/box/a/run"}, ""},
		{[]string{"/box/a/b/link", "/tmp/t"}, []string{"/box/a", "/box/a/b", "/box/a/b/link", "/tmp/t"}, ""},
		{[]string{"/tmp"}, []string{"/tmp/out", "/tmp/second", "/tmp/t", "/tmp/third"}, ""},
		{[]string{"/box/a", "/box/a/file"}, []string{"/box/a", "/box/a/b", "/box/a/b/c", "/box/a/b/link", "/box/a/file", "/box/a/run"}, ""},
		{[]string{"/box/missing"}, nil, api.CodeNotFound},
		{[]string{"/box/missing/x"}, nil, api.CodeNotFound},
		{[]string{"/box/a/file/x"}, nil, api.CodeNotFound},
		{[]string{"/tmp/out/x"}, nil, api.CodeNotFound}, // a link is not followed
	} {
		_, err := save(t, store, root, &Walk{Paths: c.paths}, "some")
		if c.code != "" {
			if !api.HasCode(err, c.code) {
				t.Errorf("%q: %v; want %s", c.paths, err, c.code)
			}
			continue
		}
		must(t, err)
		other, otherDir := newPlaces(t)
		must(t, load(t, store, other, "some", false))
		var got []string
		for line := range strings.Lines(describeTree(t, otherDir)) {
			name, _, _ := strings.Cut(line, " ")
			got = append(got, name)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%q: %q; want %q", c.paths, got, c.want)
		}
	}
}

// A snapshot belongs to its owner, and expires.
func TestStore(t *testing.T) {
	store := newStore(t)
	root, dir := newPlaces(t)
	asProgram(t, func() error { return os.WriteFile(filepath.Join(dir, "box/x"), []byte("secret"), 0o644) })
	made, err := save(t, store, root, &Walk{}, "mine")
	must(t, err)

	// SNP-01: neither another key, nor another user, nor a caller that uses the agent's socket finds it, by whatever name.
	others := []Owner{{UID: 1000, Space: "key:b"}, {UID: 1001, Space: "key:a"}, {UID: 1000}, {UID: 0}, {UID: 1000, Space: "key:a/"}}
	for _, other := range others {
		for _, ref := range []string{"mine", made.ID} {
			if _, _, err := store.Open(other, ref); !api.HasCode(err, api.CodeNotFound) {
				t.Errorf("%+v opens %s: %v", other, ref, err)
			}
			if err := store.Remove(other, ref); !api.HasCode(err, api.CodeNotFound) {
				t.Errorf("%+v removes %s: %v", other, ref, err)
			}
		}
		if all, err := store.List(other); err != nil || len(all) > 0 {
			t.Errorf("%+v lists %+v, %v", other, all, err)
		}
	}
	for _, ref := range []string{"", "..", "../" + owner.Space, "sha256:" + strings.Repeat("Z", 64), "sha256:../../x", "a/b"} {
		if _, _, err := store.Open(owner, ref); !api.HasCode(err, api.CodeBadRequest) {
			t.Errorf("open %q: %v", ref, err)
		}
	}
	for _, ref := range []string{"mine", made.ID} { // the positive control
		f, _, err := store.Open(owner, ref)
		must(t, err)
		must(t, f.Close())
	}

	asProgram(t, func() error { return os.WriteFile(filepath.Join(dir, "box/y"), nil, 0o644) })
	later, err := save(t, store, root, &Walk{}, "mine")
	must(t, err)
	if got, err := store.Get(owner, "mine"); err != nil || got.ID != later.ID {
		t.Errorf("the name is that of %+v, %v; want the later one", got, err)
	}
	if got, err := store.Get(owner, made.ID); err != nil || got.ID != made.ID {
		t.Errorf("the earlier one: %+v, %v", got, err)
	}
	must(t, store.Remove(owner, "mine"))
	must(t, store.Remove(owner, made.ID))
	if all, err := store.List(owner); err != nil || len(all) > 0 {
		t.Errorf("after removal: %+v, %v", all, err)
	}
}

// What a killed agent leaves is removed by the next snapshot, and what has expired, too.
func TestSweep(t *testing.T) {
	store := newStore(t)
	root, dir := newPlaces(t)
	asProgram(t, func() error { return os.WriteFile(filepath.Join(dir, "box/x"), []byte("x"), 0o644) })
	made, err := save(t, store, root, &Walk{}, "old")
	must(t, err)
	left := filepath.Join(store.dir(owner), newPrefix+"left")
	must(t, os.WriteFile(left, []byte("half"), 0o600))

	path := filepath.Join(store.dir(owner), strings.TrimPrefix(made.ID, idPrefix)+suffix)
	text, err := os.ReadFile(path)
	must(t, err)
	one, err := describe(path)
	must(t, err)
	expires, err := time.Parse(time.RFC3339, one.Expires)
	must(t, err)
	text = bytes.Replace(text, fmt.Appendf(nil, `"Expires":%d`, expires.Unix()), []byte(`"Expires":1000000000`), 1)
	must(t, os.WriteFile(path, text, 0o600))
	if _, err := store.Get(owner, "old"); !api.HasCode(err, api.CodeNotFound) {
		t.Errorf("an expired one: %v", err)
	}

	busy, err := store.Begin(owner)
	must(t, err)
	for _, gone := range []string{left, path} {
		if _, err := os.Lstat(gone); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is still there: %v", gone, err)
		}
	}
	second, err := store.Begin(owner)
	must(t, err)
	if _, err := os.Lstat(busy.File.Name()); err != nil {
		t.Errorf("one that is being made was removed: %v", err)
	}
	must(t, errors.Join(busy.Discard(), second.Discard()))
	if left, err := os.ReadDir(store.dir(owner)); err != nil || len(left) > 0 {
		t.Errorf("discarded drafts leave %v, %v", left, err)
	}
}

// There is a bound for all snapshots, and a smaller one for each key.
func TestRoom(t *testing.T) {
	store := New(Config{Dir: t.TempDir(), Total: 64 << 10})
	root, dir := newPlaces(t)
	asProgram(t, func() error {
		return os.WriteFile(filepath.Join(dir, "box/x"), bytes.Repeat([]byte("x"), 20<<10), 0o644)
	})
	_, err := save(t, store, root, &Walk{}, "first")
	must(t, err)
	asProgram(t, func() error {
		return os.WriteFile(filepath.Join(dir, "box/x"), bytes.Repeat([]byte("y"), 20<<10), 0o644)
	})
	if _, err := save(t, store, root, &Walk{}, "second"); !api.HasCode(err, api.CodeTooLarge) || !strings.Contains(err.Error(), "key") {
		t.Errorf("more than a key may have: %v", err)
	}
	must(t, store.Remove(owner, "first"))
	_, err = save(t, store, root, &Walk{}, "second")
	must(t, err)
}
