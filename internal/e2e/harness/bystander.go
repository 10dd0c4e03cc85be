package harness

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/internal/corpus"
)

// A Bystander is a file of the host, with all metadata that a chown, chmod, link or write would
// change.
type Bystander struct {
	Path string
	was  unix.Stat_t
}

// NewBystander creates a file that belongs to another user, in a directory that programs know.
func NewBystander(t *testing.T, dir, name string) Bystander {
	t.Helper()
	b := Bystander{Path: filepath.Join(dir, name)}
	if err := os.WriteFile(b.Path, []byte(corpus.Secret), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(b.Path, 1234, 1235); err != nil {
		t.Fatal(err)
	}
	return b.Note(t)
}

// Note remembers what the file is now.
func (b Bystander) Note(t *testing.T) Bystander {
	t.Helper()
	if err := unix.Lstat(b.Path, &b.was); err != nil {
		t.Fatal(err)
	}
	return b
}

// Touched reports whether the file is not what it was.
func (b Bystander) Touched(t *testing.T) bool {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Lstat(b.Path, &st); err != nil {
		t.Errorf("bystander: %v", err)
		return true
	}
	st.Atim = b.was.Atim // reading is allowed
	return st != b.was
}
