package contents

import (
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/cache"
)

// Without an engine contents are on the disk alone, and what was never put has the code of a missing blob.
func TestContentsOfOneProcess(t *testing.T) {
	dir := t.TempDir()
	disk, err := cache.Open(dir, 1<<20)
	if err != nil {
		t.Fatal(err)
	}

	s := &Store{Disk: disk, Dir: dir}
	digest, err := s.Put(t.Context(), []byte("1 2\n"))
	if err != nil {
		t.Fatal(err)
	}
	if text, err := s.Get(t.Context(), digest); err != nil || string(text) != "1 2\n" {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := s.Get(t.Context(), digest[1:]+"0"); !api.HasCode(err, api.CodeNoBlob) {
		t.Errorf("content that nobody has put: %v", err)
	}
	if err := s.KeepAgain(t.Context()); err != nil {
		t.Error(err)
	}
}
