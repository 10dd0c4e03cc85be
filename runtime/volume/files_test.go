package volume

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
)

// The name of a volume's file says whose and of which run it is, and no two volumes have the same.
func TestNamesOfFiles(t *testing.T) {
	s := &Store{Config: Config{Dir: "/volumes"}}
	seen := map[string]string{}
	names := []string{"a", "a%", "%a", "%%", "a%%b", "a/b", ".", "..a", "ü ", "key/project", "%2F", "a%25"}
	for _, name := range names {
		for _, run := range append([]string{""}, names...) {
			path, err := s.path(7, name, run)
			if err != nil {
				t.Fatal(err)
			}
			if filepath.Dir(path) != "/volumes/7" || strings.HasPrefix(filepath.Base(path), ".") {
				t.Errorf("%q of %q is at %s", name, run, path)
			}
			if other, has := seen[path]; has {
				t.Errorf("%q of %q has the file of %s", name, run, other)
			}
			seen[path] = name + " of " + run
			if n, r, ok := namesOf(filepath.Base(path)); !ok || n != name || r != run {
				t.Errorf("%s is read as %q of %q, %v", path, n, r, ok)
			}
		}
	}

	for _, file := range []string{"a", ".new-1", ".ext4", "a%%.ext4", "%%b.ext4", "a%zz.ext4", "a%%%.ext4", "a.ext4.bak"} {
		if n, r, ok := namesOf(file); ok {
			t.Errorf("%s is read as %q of %q", file, n, r)
		}
	}

	long := strings.Repeat("x", 130)
	_, err := s.path(7, long, long)
	if !api.HasCode(err, api.CodeBadRequest) || !strings.Contains(err.Error(), "262 bytes") {
		t.Errorf("a name and a run that are too long together: %v", err)
	}
	if _, err := s.path(7, long, ""); err != nil {
		t.Error(err)
	}
}
