// Package cache stores content by name in a directory of bounded size. The name of an artifact is
// the digest of all that it was compiled from; the name of a blob is its own digest. The least
// recently used content is evicted first. Any number of processes may share a directory.
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
// Only root can access it (mode 0700): a run has no path to it (CMP-16).
type Cache struct {
	dir     string
	maxSize int64 // limit of the total cost of all files

	mu   sync.Mutex
	size int64 // guarded by mu; the last counted total plus the additions since

	memory memoryCache // recently checked content
}

// The errors of Get and PutBlob.
var (
	ErrNotFound = errors.New("not in the cache")
	ErrDigest   = errors.New("the content has a different digest")
)

const (
	headerSize    = sha256.Size
	tempPrefix    = ".new-"
	staleAfter    = time.Hour        // the writer of an unwritten file of this age no longer exists
	touchInterval = 10 * time.Second // minimum time between two updates of a file's time of use
)

// A file takes whole blocks of the file system, and an inode. minCost is more than the smallest
// file takes, so that a limit on the bytes also limits the number of files: 131,072 files in 2 GiB,
// which evict scans in less than a second.
const (
	blockSize = 4 << 10
	minCost   = 16 << 10
)

// Cost returns the size that a cache accounts for content of that many bytes: at least the disk
// space that it takes (TestSmallFilesAreCounted).
func Cost(content int64) int64 { return costOf(content + headerSize) }

func costOf(file int64) int64 { return max((file+blockSize-1)/blockSize*blockSize, minCost) }

// Open opens the cache in dir and makes it if it is missing. most limits the total cost of the
// files.
func Open(dir string, maxSize int64) (*Cache, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("open cache: %w", err)
	}
	c := &Cache{dir: dir, maxSize: maxSize}
	return c, c.evict()
}

// Get returns the content under a name. The caller must not change it: other callers share the same
// bytes. Get removes content that differs from what was stored, and does not return it: a run never
// executes an artifact that changed on disk after it was compiled (CMP-16).
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
	if content, ok := c.memory.get(name, stampOf(before)); ok {
		if c.touch(path, before) {
			c.memory.forget(name) // its stamp has changed
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
	if len(all) < headerSize || sha256.Sum256(all[headerSize:]) != [headerSize]byte(all[:headerSize]) {
		return nil, errors.Join(ErrNotFound, c.remove(path))
	}
	if !c.touch(path, before) {
		c.memory.put(name, stampOf(before), all[headerSize:])
	}
	return all[headerSize:], nil
}

// OpenContent opens the content under a name, without reading it into memory, and counts that as a use. The reader gets
// what is on the disk: who needs to know that it is what was stored compares its digest.
func (c *Cache) OpenContent(name string) (content io.ReadCloser, err error) {
	path, err := c.path(name)
	if err != nil {
		return nil, err
	}

	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("read cache: %w", err)
	}

	st, err := f.Stat()
	if err == nil {
		c.touch(path, st)
		_, err = f.Seek(headerSize, io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read cache: %w", err), f.Close())
	}
	return f, nil
}

// Size returns the number of bytes that Get would return.
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
	return max(st.Size()-headerSize, 0), nil
}

// Has reports whether there is content under the name, and marks it as used.
func (c *Cache) Has(name string) bool {
	path, err := c.path(name)
	if err != nil {
		return false
	}
	st, err := os.Lstat(path)
	if err == nil {
		c.touch(path, st)
	}
	return err == nil
}

// touch sets the file's modification time, which determines the order of eviction, unless it was set
// less than touchInterval ago, and reports whether it did. It ignores errors: a file removed in the
// meantime, or a read-only disk, only makes the order less accurate.
func (c *Cache) touch(path string, st fs.FileInfo) (noted bool) {
	now := time.Now()
	if now.Sub(st.ModTime()) <= touchInterval {
		return false
	}
	_ = os.Chtimes(path, now, now)
	return true
}

// Remove removes the content under a name. It is no error if there is none.
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
		return nil // another process removed it first, and has its own count
	}
	if err != nil {
		return fmt.Errorf("remove from cache: %w", err)
	}

	c.memory.forget(name)
	c.mu.Lock()
	c.size -= costOf(st.Size())
	c.mu.Unlock()
	return nil
}

// Put stores content under a name that is not its digest.
func (c *Cache) Put(name string, content io.Reader) error { return c.put(name, content, "") }

// PutBlob stores the content of r under a name, which may be its digest. It stores nothing if the content has another
// digest.
func (c *Cache) PutBlob(name, digest string, r io.Reader) error { return c.put(name, r, digest) }

// put checks the digest unless it is empty.
func (c *Cache) put(name string, r io.Reader, digest string) error {
	cost, err := c.write(name, r, digest)
	if err != nil {
		return err
	}

	c.mu.Lock()
	c.size += cost
	over := c.size > c.maxSize
	c.mu.Unlock()
	if over {
		return c.evict()
	}
	return nil
}

// Offer stores content under a name if nothing has to be evicted for it, and reports whether it is there. Until somebody
// uses it, it is evicted before all that was stored otherwise.
func (c *Cache) Offer(name string, content []byte) (kept bool, err error) {
	if c.Has(name) {
		return true, nil
	}
	path, err := c.path(name)
	if err != nil {
		return false, err
	}

	cost := Cost(int64(len(content)))
	c.mu.Lock()
	room := c.size+cost <= c.maxSize
	if room {
		c.size += cost
	}
	c.mu.Unlock()
	if !room {
		return false, nil
	}

	if _, err := c.write(name, bytes.NewReader(content), ""); err != nil {
		c.mu.Lock()
		c.size -= cost
		c.mu.Unlock()
		return false, err
	}
	return true, os.Chtimes(path, unused, unused)
}

// unused is the time of use of content that nobody has used.
var unused = time.Unix(0, 0)

// write writes a file, which does not count yet, and returns its cost.
func (c *Cache) write(name string, r io.Reader, digest string) (cost int64, err error) {
	path, err := c.path(name)
	if err != nil {
		return 0, err
	}

	tmp, err := os.CreateTemp(c.dir, tempPrefix)
	if err != nil {
		return 0, fmt.Errorf("write cache: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(tmp.Name()))
		}
	}()

	n, sum, err := fill(tmp, r)
	if err = errors.Join(err, tmp.Close()); err != nil {
		return 0, err
	}
	if digest != "" && hex.EncodeToString(sum) != digest {
		return 0, fmt.Errorf("%w: %x", ErrDigest, sum)
	}

	cost = costOf(n)
	if cost > c.maxSize {
		return 0, fmt.Errorf("write cache: %w: %d bytes exceed its limit of %d", unix.ENOSPC, cost, c.maxSize)
	}
	if err := os.Rename(tmp.Name(), path); err != nil {
		return 0, fmt.Errorf("write cache: %w", err)
	}

	c.memory.forget(name)
	return cost, nil
}

// fill writes the header and the content of r. It returns the size of the file and the sha256 of
// the content.
func fill(f *os.File, r io.Reader) (int64, []byte, error) {
	if _, err := f.Write(make([]byte, headerSize)); err != nil {
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
	return n + headerSize, sum, nil
}

// evict counts the total cost of the directory. If it is over the limit, evict removes the least
// recently used files until a tenth is free. It ignores files that another process removes in the
// meantime.
func (c *Cache) evict() error {
	c.mu.Lock()
	defer c.mu.Unlock()

	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return fmt.Errorf("evict from cache: %w", err)
	}

	var errs []error
	var files []fs.FileInfo
	c.size = 0

	for _, e := range entries {
		info, err := e.Info()
		switch {
		case err != nil:
		case strings.HasPrefix(e.Name(), tempPrefix):
			if time.Since(info.ModTime()) > staleAfter {
				errs = append(errs, c.remove(filepath.Join(c.dir, e.Name())))
			}
		default:
			files = append(files, info)
			c.size += costOf(info.Size())
		}
	}

	if c.size <= c.maxSize {
		return errors.Join(errs...)
	}

	slices.SortFunc(files, func(a, b fs.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	for _, info := range files {
		if c.size <= c.maxSize/10*9 {
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

// path returns the path for a name. It refuses a name that is not 64 hex digits, so every path is
// inside the directory.
func (c *Cache) path(name string) (string, error) {
	if len(name) != 64 || strings.Trim(name, "0123456789abcdef") != "" {
		return "", fmt.Errorf("cache name %.80q: it must have 64 lower-case hex digits", name)
	}
	return filepath.Join(c.dir, name), nil
}
