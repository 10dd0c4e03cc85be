package rootfs

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// An image stored by a brig without volumes gets its /workspace once, and still verifies. An image
// with something else at /workspace is refused. A record that was tampered with stays invalid.
func TestWorkspaceOfAnOlderImage(t *testing.T) {
	s := newStore(t)
	stored := func(name string) Image {
		t.Helper()
		img, err := importTar(t, s, Options{Name: name}, file("usr/"+name, "1"))
		if err != nil {
			t.Fatal(err)
		}
		return img
	}

	older := func(name string) Image {
		t.Helper()
		img := stored(name)
		dir := filepath.Dir(img.Path)
		if err := os.Remove(filepath.Join(img.Path, "workspace")); err != nil {
			t.Fatal(err)
		}

		w := &StagingDir{Path: dir}
		if err := errors.Join(os.Remove(filepath.Join(dir, recordName)), os.Remove(filepath.Join(dir, "image.json"))); err != nil {
			t.Fatal(err)
		}

		record, _, err := w.record(t.Context(), nil)
		if err == nil {
			err = w.writeMeta(imageMeta{Digest: img.Digest, Size: img.Size, Entries: img.Entries, Imported: img.Imported, Record: record})
		}
		if err != nil {
			t.Fatal(err)
		}
		return img
	}

	ok := func(what, name string) {
		t.Helper()
		if v, err := s.Verify(t.Context(), name); err != nil || !v.OK() {
			t.Errorf("%s: %+v, %v", what, v, err)
		}
	}

	img := stored("today")
	if err := s.EnsureWorkspace(img.Digest); err != nil {
		t.Error(err)
	}

	ok("today's", "today")
	img = older("before")
	ok("before", "before")
	for range 2 {
		if err := s.EnsureWorkspace(img.Digest); err != nil {
			t.Error(err)
		}
		ok("fixed", "before")
	}

	if st, err := os.Lstat(filepath.Join(img.Path, "workspace")); err != nil || !st.IsDir() || st.Mode().Perm() != 0o755 {
		t.Errorf("/workspace: %v, %v", st, err)
	}

	img = older("taken")
	if err := os.Symlink("/etc", filepath.Join(img.Path, "workspace")); err != nil {
		t.Fatal(err)
	}
	if err := s.EnsureWorkspace(img.Digest); !errors.Is(err, ErrNoWorkspace) {
		t.Errorf("a link in its place: %v", err)
	}

	img = older("changed")
	if err := os.WriteFile(filepath.Join(filepath.Dir(img.Path), recordName), []byte("\"usr\" \n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := s.EnsureWorkspace(img.Digest); err != nil {
		t.Error(err)
	}
	if _, err := s.Verify(t.Context(), "changed"); !errors.Is(err, ErrNoRecord) {
		t.Errorf("a record that was changed: %v; want ErrNoRecord", err)
	}
	if left, err := os.ReadDir(filepath.Join(s.dir, "work")); err != nil || len(left) != 0 {
		t.Errorf("work left: %v, %v", left, err)
	}
}
