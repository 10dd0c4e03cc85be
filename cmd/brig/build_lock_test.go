package main

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// The user that builds run as can traverse the cache, whatever the umask, and also if an earlier
// brig made it for root alone. It cannot enter the directory of locks.
func TestLocksKeepTheCacheTraversable(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root's builds run as another user")
	}
	old := syscall.Umask(0o077)
	defer syscall.Umask(old)
	for _, made := range []bool{false, true} {
		cache := filepath.Join(t.TempDir(), "brig")
		if made {
			if err := os.Mkdir(cache, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		lock, err := lockBuild(t.Context(), cache, "tiny", func() { t.Error("nobody builds") })
		if err != nil {
			t.Fatal(err)
		}
		defer lock.Close()
		for path, want := range map[string]os.FileMode{cache: 0o755, filepath.Join(cache, "locks"): 0o700} {
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
				t.Errorf("made before: %v: %s: %v, %v; want %o", made, path, info.Mode(), err, want)
			}
		}
	}
}
