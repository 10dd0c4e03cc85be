package cli

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/brig-sandbox/brig/rootfs/reader"
)

// A directory of the cache that another user has, as the one that reads registries had the contents' of
// an earlier brig, is not used.
func TestNoCacheOfAnotherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can make a directory of another user")
	}
	t.Setenv("BRIG_CACHE", t.TempDir())
	theirs := filepath.Join(CacheDir(), ContentsDir)
	if err := errors.Join(os.Mkdir(theirs, 0o700), os.Chown(theirs, reader.UID, reader.UID)); err != nil {
		t.Fatal(err)
	}
	want := theirs + " belongs to uid 2000065536, who could have prepared what is in it, and not to uid 0: remove it"
	if _, err := OpenContents(1 << 20); err == nil || err.Error() != want {
		t.Errorf("%v; want %s", err, want)
	}
}
