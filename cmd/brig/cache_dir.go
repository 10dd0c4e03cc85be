package main

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

// cacheDir is the directory for downloads and for what batches keep: $BRIG_CACHE, or the usual one of
// the user; empty if there is none. Other users than root have parts of root's: builds run as one, and
// so does the process that reads registries. So nothing but shareddir makes it.
func cacheDir() string {
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
	locksDir    = "locks"  // of builds
	contentsDir = "blobs"  // contents that jobs of batches name
	enginesDir  = "engine" // of embedded engines, by the batch
)

// makeCache makes a directory in the cache for this user alone.
func makeCache(name string) (dir string, err error) {
	cache := cacheDir()
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

// openContents opens the store of what jobs name, with at most maxSize bytes on the disk.
func openContents(maxSize int64) (*contents.Store, error) {
	dir, err := makeCache(contentsDir)
	if err != nil {
		return nil, err
	}
	disk, err := cache.Open(dir, maxSize)
	if err != nil {
		return nil, err
	}
	return &contents.Store{Disk: disk, Dir: cacheDir()}, nil
}
