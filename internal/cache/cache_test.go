package cache

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

func digest(content string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(content))) }

func open(t *testing.T, dir string, maximum int64) *Cache {
	t.Helper()
	c, err := Open(dir, maximum)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestBlobs(t *testing.T) {
	c := open(t, t.TempDir(), 10*minCost)
	name := digest("content")
	if _, err := c.Get(name); !errors.Is(err, ErrNotFound) || c.Has(name) {
		t.Errorf("before: %v, has %v", err, c.Has(name))
	}
	if err := c.PutBlob(name, name, strings.NewReader("other content")); !errors.Is(err, ErrDigest) {
		t.Errorf("a blob under another's digest: %v", err)
	}
	if err := c.PutBlob(name, name, errReader{}); err == nil || c.Has(name) {
		t.Errorf("a blob whose sender broke off: %v, has %v", err, c.Has(name))
	}
	if err := c.PutBlob(name, name, strings.NewReader("content")); err != nil {
		t.Fatal(err)
	}
	if got, err := c.Get(name); err != nil || string(got) != "content" || !c.Has(name) {
		t.Errorf("after: %q, %v", got, err)
	}
	if got, err := readAll(c, name); err != nil || got != "content" {
		t.Errorf("opened: %q, %v", got, err)
	}
	if got, err := readAll(c, digest("none")); !errors.Is(err, ErrNotFound) {
		t.Errorf("opened what is not there: %q, %v", got, err)
	}

	for _, bad := range []string{"", "..", name[:63], strings.ToUpper(name), "../" + name[3:]} {
		if _, err := c.Get(bad); err == nil || errors.Is(err, ErrNotFound) {
			t.Errorf("Get(%q): %v; want it refused", bad, err)
		}
		if _, err := readAll(c, bad); err == nil || errors.Is(err, ErrNotFound) {
			t.Errorf("OpenContent(%q): %v; want it refused", bad, err)
		}
		if err := c.Put(bad, strings.NewReader("")); err == nil {
			t.Errorf("Put(%q) is accepted", bad)
		}
	}

	if err := c.Put(digest("big"), bytes.NewReader(make([]byte, 10*minCost))); err == nil || c.Has(digest("big")) {
		t.Errorf("more than the cache holds: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(c.dir, tempPrefix+"*")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

func readAll(c *Cache, name string) (string, error) {
	content, err := c.OpenContent(name)
	if err != nil {
		return "", err
	}
	defer content.Close()
	b, err := io.ReadAll(content)
	return string(b), err
}

type errReader struct{}

func (errReader) Read([]byte) (int, error) { return 0, errors.New("broken") }

// CMP-16: an entry that was changed on disk is not used.
func TestDamagedEntryIsNotUsed(t *testing.T) {
	for name, damage := range map[string]func(b []byte) []byte{
		"one bit":       func(b []byte) []byte { b[len(b)-1] ^= 1; return b },
		"cut":           func(b []byte) []byte { return b[:len(b)-1] },
		"longer":        func(b []byte) []byte { return append(b, 0) },
		"empty":         func([]byte) []byte { return nil },
		"header alone":  func(b []byte) []byte { return b[:headerSize] },
		"another entry": func([]byte) []byte { return bytes.Repeat([]byte("x"), 100) },
	} {
		c := open(t, t.TempDir(), 10*minCost)
		key := digest(name)
		if err := c.Put(key, strings.NewReader("artifact")); err != nil {
			t.Fatal(err)
		}

		path := filepath.Join(c.dir, key)
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, damage(b), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := c.Get(key); !errors.Is(err, ErrNotFound) || got != nil {
			t.Errorf("%s: %q, %v; want it not found", name, got, err)
		}
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: it is still there: %v", name, err)
		}
	}
}

func TestBoundedBySize(t *testing.T) {
	dir := t.TempDir()
	c := open(t, dir, 10*minCost)
	old := time.Now().Add(-time.Hour)
	for i := range 9 {
		if err := c.Put(digest(fmt.Sprint(i)), bytes.NewReader(make([]byte, 68))); err != nil {
			t.Fatal(err)
		}
		at := old.Add(time.Duration(i) * time.Minute)
		if err := os.Chtimes(filepath.Join(dir, digest(fmt.Sprint(i))), at, at); err != nil {
			t.Fatal(err)
		}
	}

	if _, err := c.Get(digest("0")); err != nil { // now it is the most recently used
		t.Fatal(err)
	}

	for _, name := range []string{"9", "10"} {
		if err := c.Put(digest(name), bytes.NewReader(make([]byte, 68))); err != nil {
			t.Fatal(err)
		}
	}

	want := map[string]bool{"0": true, "1": false, "2": false, "3": true, "8": true, "9": true, "10": true}
	for name, there := range want {
		if c.Has(digest(name)) != there {
			t.Errorf("entry %s is there: %v; want %v", name, !there, there)
		}
	}

	if c = open(t, dir, 5*minCost); c.Has(digest("4")) || !c.Has(digest("10")) {
		t.Error("a smaller bound is not kept when the cache is opened")
	}

	stale := filepath.Join(dir, tempPrefix+"1")
	if err := errors.Join(os.WriteFile(stale, nil, 0o600), os.Chtimes(stale, old.Add(-time.Hour), old.Add(-time.Hour))); err != nil {
		t.Fatal(err)
	}

	open(t, dir, 5*minCost)
	if _, err := os.Stat(stale); err == nil {
		t.Error("what a killed writer left is still there")
	}
}

// Small files take whole blocks and inodes: 8,507 blobs accounted as 1.2 MB took 35.7 MB.
func TestSmallFilesAreCounted(t *testing.T) {
	dir := t.TempDir()
	const maximum = 1 << 20
	c := open(t, dir, maximum)
	for i := range 1000 {
		if err := c.PutBlob(digest(fmt.Sprint(i)), digest(fmt.Sprint(i)), strings.NewReader(fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
	}

	all, err := os.ReadDir(dir)
	if err != nil || len(all) > maximum/minCost || len(all) == 0 {
		t.Errorf("%d files, %v; want at most %d", len(all), err, maximum/minCost)
	}

	var disk int64
	for _, e := range all {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		disk += info.Sys().(*syscall.Stat_t).Blocks * 512
	}

	if disk > maximum {
		t.Errorf("%d bytes of the disk are taken; want at most %d", disk, maximum)
	}
	if !c.Has(digest("999")) || c.Has(digest("0")) {
		t.Error("the newest has gone, or the oldest is there")
	}
}

func TestRemove(t *testing.T) {
	c := open(t, t.TempDir(), 4*minCost)
	name := digest("content")
	for range 100 { // fails if removed content is still counted
		if err := c.PutBlob(name, name, strings.NewReader("content")); err != nil {
			t.Fatal(err)
		}
		if got, err := c.Get(name); err != nil || string(got) != "content" {
			t.Fatalf("%q, %v", got, err)
		}
		if err := c.Remove(name); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Get(name); !errors.Is(err, ErrNotFound) {
			t.Fatalf("after it was removed: %v", err)
		}
	}

	if c.size != 0 {
		t.Errorf("an empty cache counts %d bytes", c.size)
	}
	if err := c.Remove(name); err != nil {
		t.Errorf("what is not there: %v", err)
	}
	if err := c.Remove("../" + name[3:]); err == nil {
		t.Error("a name outside is accepted")
	}
}

func TestManyAtOnce(t *testing.T) {
	dir := t.TempDir()
	var wg sync.WaitGroup
	for range 4 {
		c := open(t, dir, 20*minCost)
		wg.Go(func() {
			for i := range 100 {
				content := fmt.Sprint(i % 30)
				if err := c.PutBlob(digest(content), digest(content), strings.NewReader(content)); err != nil {
					t.Error(err)
				}
				if got, err := c.Get(digest(content)); err == nil && string(got) != content || err != nil && !errors.Is(err, ErrNotFound) {
					t.Errorf("%q, %v", got, err)
				}
			}
		})
	}

	wg.Wait()
}

// Content in memory is used only while it is the same as on disk.
func TestMemoryFollowsTheDisk(t *testing.T) {
	dir := t.TempDir()
	c := open(t, dir, 100<<20)
	name := digest("content")
	want := func(content string) {
		t.Helper()
		for range 3 {
			if got, err := c.Get(name); err != nil || string(got) != content {
				t.Fatalf("%q, %v; want %q", got, err, content)
			}
		}
	}

	if err := c.Put(name, strings.NewReader("first")); err != nil {
		t.Fatal(err)
	}

	want("first")
	if len(c.memory.entries) != 1 {
		t.Error("nothing is held")
	}
	if err := open(t, dir, 100<<20).Put(name, strings.NewReader("other")); err != nil { // by another process
		t.Fatal(err)
	}

	want("other")
	if err := c.Put(name, strings.NewReader("again")); err != nil {
		t.Fatal(err)
	}

	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(dir, name), old, old); err != nil {
		t.Fatal(err)
	}

	want("again")
	if err := os.Remove(filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
	if got, err := c.Get(name); !errors.Is(err, ErrNotFound) {
		t.Errorf("after it was removed: %q, %v", got, err)
	}
}

func TestMemoryIsBounded(t *testing.T) {
	var r memoryCache
	var file stamp
	r.put("larger", file, make([]byte, maxMemoryBytes+1))
	if _, ok := r.get("larger", file); ok {
		t.Error("one larger than all the room is held")
	}

	// A Haskell program that uses Data.Map has 10 MB: without caching it, a run takes 13 ms longer.
	r.put("whole", file, make([]byte, maxMemoryBytes))
	if _, ok := r.get("whole", file); !ok {
		t.Error("one as large as the room is not held")
	}

	for i := range 100 {
		r.put(fmt.Sprint(i), file, make([]byte, 1<<20))
		r.get("0", file)
	}

	if r.size > maxMemoryBytes || len(r.entries) != maxMemoryBytes>>20 {
		t.Errorf("%d bytes in %d entries are held", r.size, len(r.entries))
	}
	if _, ok := r.get("0", file); !ok {
		t.Error("what is used all the time was let go")
	}
	if _, ok := r.get("0", stamp{size: 1}); ok {
		t.Error("what another file holds is used")
	}

	for i := range 100 {
		r.put("small", file, []byte("x"))
		r.put(fmt.Sprint("small", i), file, []byte("x"))
	}

	if len(r.entries) != maxMemoryEntries {
		t.Errorf("%d entries are held; want %d", len(r.entries), maxMemoryEntries)
	}
}
