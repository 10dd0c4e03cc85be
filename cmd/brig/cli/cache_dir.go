package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/batch/contents"
	"github.com/brig-sandbox/brig/internal/cache"
	"github.com/brig-sandbox/brig/internal/shareddir"
)

// CacheDir is the directory for downloads and for what batches keep: $BRIG_CACHE, or the usual one of
// the user; empty if there is none. Other users than root have parts of root's: builds run as one, and
// so does the process that reads registries. So nothing but shareddir makes it.
func CacheDir() string {
	if dir := os.Getenv("BRIG_CACHE"); dir != "" {
		return dir
	}
	if os.Geteuid() == 0 {
		return shareddir.Cache
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "brig")
}

// The directories in the cache. Each belongs to one user alone.
const (
	LocksDir    = "locks"  // of builds
	ContentsDir = "blobs"  // contents that jobs of batches name
	EnginesDir  = "engine" // of embedded engines, by the batch
)

// MakeCache makes a directory in the cache for this user alone.
func MakeCache(name string) (dir string, err error) {
	cache := CacheDir()
	if cache == "" {
		return "", errors.New("there is no directory for the cache: set HOME or BRIG_CACHE")
	}

	dir = filepath.Join(cache, name)
	if err := shareddir.MakePrivate(dir); err != nil {
		return "", err
	}

	var st unix.Stat_t
	if err := unix.Lstat(dir, &st); err != nil {
		return "", &os.PathError{Op: "lstat", Path: dir, Err: err}
	}
	if int(st.Uid) != os.Geteuid() {
		return "", fmt.Errorf("%s belongs to uid %d, who could have prepared what is in it, and not to uid %d: remove it",
			dir, st.Uid, os.Geteuid())
	}
	return dir, nil
}

// OpenContents opens the store of what jobs name, with at most maxSize bytes on the disk.
func OpenContents(maxSize int64) (*contents.Store, error) {
	dir, err := MakeCache(ContentsDir)
	if err != nil {
		return nil, err
	}
	disk, err := cache.Open(dir, maxSize)
	if err != nil {
		return nil, err
	}
	return &contents.Store{Disk: disk, Dir: CacheDir()}, nil
}

// DataDir is where brig keeps data of the user, by the XDG base directory specification.
func (c *CLI) DataDir() (string, error) {
	data := c.Env("XDG_DATA_HOME")
	if !filepath.IsAbs(data) { // the specification says to ignore a relative one
		home := c.Env("HOME")
		if !filepath.IsAbs(home) {
			return "", errors.New("neither HOME nor XDG_DATA_HOME says where your data are: set XDG_DATA_HOME to a directory")
		}
		data = filepath.Join(home, ".local", "share")
	}
	return filepath.Join(data, "brig"), nil
}
