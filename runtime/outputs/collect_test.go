package outputs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
)

// boxOf returns a directory with this many empty files and FIFOs, and one file in a subdirectory.
func boxOf(t *testing.T, files, fifos int) *os.File {
	t.Helper()
	dir := t.TempDir()
	for i := range files {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("f%04d", i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}

	for i := range fifos {
		if err := unix.Mkfifo(filepath.Join(dir, fmt.Sprintf("a%04d", i)), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	if err := os.Mkdir(filepath.Join(dir, "d"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "d", "x.txt"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}

	box, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { box.Close() })
	return box
}

// FIO-21: a scan that takes too long ends and reports that, however much else is skipped. A scan
// whose caller has gone ends with the context's error.
func TestCollectingEnds(t *testing.T) {
	box := boxOf(t, 100, 300)
	want := api.Collect{Globs: []string{"a*", "d/*.txt", "f0099", "none"}, Files: 1000}
	files, skipped, err := Collect(t.Context(), box, want, nil, nil)
	if err != nil || len(files) != 2 || files[0].Name != "d/x.txt" || files[1].Name != "f0099" || len(skipped) != CollectSkipped+1 {
		t.Fatalf("with time: %d files, %d skipped, %v", len(files), len(skipped), err)
	}

	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if files, skipped, err := Collect(gone, box, want, nil, nil); !errors.Is(err, context.Canceled) || files != nil || skipped != nil {
		t.Errorf("canceled: %d files, %d skipped, %v", len(files), len(skipped), err)
	}

	had := collectTime
	collectTime = -time.Second
	defer func() { collectTime = had }()

	files, skipped, err = Collect(t.Context(), box, want, nil, nil)
	if err != nil || len(files) != 0 || len(skipped) != len(want.Globs)+1 {
		t.Fatalf("no time: %d files, skipped %v, %v", len(files), skipped, err)
	}

	for i, s := range skipped {
		name, reason := UnnamedFiles, "the rest was not scanned"
		if i < len(want.Globs) {
			name, reason = want.Globs[i], "no scanned file has such a name"
		}
		if s.Name != name || !strings.Contains(s.Reason, reason) {
			t.Errorf("no time: skipped %+v; want %s, %s", s, name, reason)
		}
	}
}
