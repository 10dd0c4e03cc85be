// Package cache keeps content by name in a directory of bounded size: artifacts by
// what they were compiled from, blobs by their own digest. What was used longest
// ago goes first. Any number of processes may share a directory.
package cache

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// A Cache is one directory:
//
//	<64 hex digits>   the sha256 of the content in binary, then the content
//	.new-<random>     being written
//
// It is root's alone (mode 0700): nothing a run can reach leads there (CMP-16).
type Cache struct {
	dir  string
	most int64 // of the costs of all files

	mu   sync.Mutex
	size int64 // guarded by mu; as last counted, and what was added since

	recent recent // what was checked lately
}

// The errors of Get and PutBlob.
var (
	ErrNotFound = errors.New("not in the cache")
	ErrDigest   = errors.New("the content has another digest")
)

const (
	header    = sha256.Size
	unwritten = ".new-"
	staleNew  = time.Hour        // an unwritten file this old has lost its writer
	usedAgain = 10 * time.Second // between two notes of use
)

// A file takes whole blocks of the file system, and an inode. leastCost is more than the
// smallest one takes, so that a bound of the bytes is one of the number as well: 131,072 files
// in 2 GiB, which evict looks through in less than a second.
const (
	block     = 4 << 10
	leastCost = 16 << 10
)

// Cost is what content of so many bytes counts as in a cache: no less than the disk gives
// for it (TestSmallFilesAreCounted).
func Cost(content int64) int64 { return costOf(content + header) }

func costOf(file int64) int64 { return max((file+block-1)/block*block, leastCost) }

// Open opens the cache in dir, making it where it is missing.
func Open(dir string, most int64) (*Cache, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("open cache: %w", err)
	}
	c := &Cache{dir: dir, most: most}
	return c, c.evict()
}

// Get returns the content under a name, which is not to be changed: others have the
// same bytes. Content that is not what was put there is removed and not returned:
// what a run executes was compiled, whatever became of the disk since (CMP-16).
func (c *Cache) Get(name string) ([]byte, error) {
	path, err := c.path(name)
	if err != nil {
		return nil, err
	}
	before, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("read cache: %w", err)
	}
	if content, ok := c.recent.get(name, stampOf(before)); ok {
		if c.used(path, before) {
			c.recent.forget(name) // its stamp has changed
		}
		return content, nil
	}
	all, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("read cache: %w", err)
	}
	if len(all) < header || sha256.Sum256(all[header:]) != [header]byte(all[:header]) {
		return nil, errors.Join(ErrNotFound, c.remove(path))
	}
	if !c.used(path, before) {
		c.recent.keep(name, stampOf(before), all[header:])
	}
	return all[header:], nil
}

// Size is how many bytes Get would return.
func (c *Cache) Size(name string) (int64, error) {
	path, err := c.path(name)
	if err != nil {
		return 0, err
	}
	st, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, ErrNotFound
	}
	if err != nil {
		return 0, fmt.Errorf("read cache: %w", err)
	}
	return max(st.Size()-header, 0), nil
}

// Has reports whether something is there under the name, and counts it as used.
func (c *Cache) Has(name string) bool {
	path, err := c.path(name)
	if err != nil {
		return false
	}
	st, err := os.Lstat(path)
	if err == nil {
		c.used(path, st)
	}
	return err == nil
}

// used notes the time, which orders eviction, unless it was noted a moment ago. A
// file that is gone meanwhile, or a read-only disk, only makes the order worse.
func (c *Cache) used(path string, st fs.FileInfo) (noted bool) {
	now := time.Now()
	if now.Sub(st.ModTime()) <= usedAgain {
		return false
	}
	_ = os.Chtimes(path, now, now)
	return true
}

// Remove removes what is under a name; nothing there is fine.
func (c *Cache) Remove(name string) error {
	path, err := c.path(name)
	if err != nil {
		return err
	}
	st, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = os.Remove(path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil // another process was first, and counts by itself
	}
	if err != nil {
		return fmt.Errorf("remove from cache: %w", err)
	}
	c.recent.forget(name)
	c.mu.Lock()
	c.size -= costOf(st.Size())
	c.mu.Unlock()
	return nil
}

// Put keeps content under a name that is not its digest.
func (c *Cache) Put(name string, content []byte) error {
	return c.put(name, bytes.NewReader(content), false)
}

// PutBlob keeps what r holds under its digest, or nothing if that is another.
func (c *Cache) PutBlob(digest string, r io.Reader) error { return c.put(digest, r, true) }

func (c *Cache) put(name string, r io.Reader, checked bool) (err error) {
	path, err := c.path(name)
	if err != nil {
		return err
	}
	tmp, err := os.CreateTemp(c.dir, unwritten)
	if err != nil {
		return fmt.Errorf("write cache: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(tmp.Name()))
		}
	}()
	n, sum, err := fill(tmp, r)
	if err = errors.Join(err, tmp.Close()); err != nil {
		return err
	}
	if checked && hex.EncodeToString(sum) != name {
		return fmt.Errorf("%w: %x", ErrDigest, sum)
	}
	cost := costOf(n)
	if cost > c.most {
		return fmt.Errorf("write cache: %w: %d bytes are more than the %d it holds", unix.ENOSPC, cost, c.most)
	}
	if err := os.Rename(tmp.Name(), path); err != nil {
		return fmt.Errorf("write cache: %w", err)
	}
	c.recent.forget(name)
	c.mu.Lock()
	c.size += cost
	over := c.size > c.most
	c.mu.Unlock()
	if over {
		return c.evict()
	}
	return nil
}

// fill writes the header and what r holds.
func fill(f *os.File, r io.Reader) (int64, []byte, error) {
	if _, err := f.Write(make([]byte, header)); err != nil {
		return 0, nil, fmt.Errorf("write cache: %w", err)
	}
	h := sha256.New()
	n, err := io.Copy(io.MultiWriter(f, h), r)
	if err != nil {
		return 0, nil, err
	}
	sum := h.Sum(nil)
	if _, err := f.WriteAt(sum, 0); err != nil {
		return 0, nil, fmt.Errorf("write cache: %w", err)
	}
	return n + header, sum, nil
}

// evict counts the directory, and when it holds too much removes what was used
// longest ago until a tenth is free. Files that another process removes meanwhile
// are fine.
func (c *Cache) evict() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return fmt.Errorf("tidy cache: %w", err)
	}
	var errs []error
	var kept []fs.FileInfo
	c.size = 0
	for _, e := range entries {
		info, err := e.Info()
		switch {
		case err != nil:
		case strings.HasPrefix(e.Name(), unwritten):
			if time.Since(info.ModTime()) > staleNew {
				errs = append(errs, c.remove(filepath.Join(c.dir, e.Name())))
			}
		default:
			kept = append(kept, info)
			c.size += costOf(info.Size())
		}
	}
	if c.size <= c.most {
		return errors.Join(errs...)
	}
	slices.SortFunc(kept, func(a, b fs.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	for _, info := range kept {
		if c.size <= c.most/10*9 {
			break
		}
		errs = append(errs, c.remove(filepath.Join(c.dir, info.Name())))
		c.size -= costOf(info.Size())
	}
	return errors.Join(errs...)
}

func (c *Cache) remove(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// path refuses names that are not 64 hex digits, which keeps every path inside.
func (c *Cache) path(name string) (string, error) {
	if len(name) != 64 || strings.Trim(name, "0123456789abcdef") != "" {
		return "", fmt.Errorf("cache name %.80q: it must have 64 lower-case hex digits", name)
	}
	return filepath.Join(c.dir, name), nil
}
