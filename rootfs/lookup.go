package rootfs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// Lookup finds an image by name or digest. If there is none, the error wraps ErrNotFound and lists
// the stored images. Lookup is cheap enough to be called before each run.
func (s *Store) Lookup(nameOrDigest string) (Image, error) {
	img, err := s.findImage(nameOrDigest)
	if errors.Is(err, fs.ErrNotExist) {
		err = s.notFound(nameOrDigest)
	}
	return img, err
}

// Has reports whether there is an image with the name or digest. Unlike Lookup, it does not read
// the other images for an error text.
func (s *Store) Has(nameOrDigest string) bool {
	_, err := s.findImage(nameOrDigest)
	return err == nil
}

// findImage is Lookup, but its error wraps fs.ErrNotExist if there is no such image.
func (s *Store) findImage(nameOrDigest string) (Image, error) {
	now, stable := s.state()
	if img, ok := s.cache.get(nameOrDigest, now); ok {
		return img, nil
	}
	img, err := s.readImage(nameOrDigest)
	if err == nil && stable {
		s.cache.put(nameOrDigest, now, img)
	}
	return img, err
}

func (s *Store) readImage(nameOrDigest string) (Image, error) {
	digest := nameOrDigest
	if !strings.HasPrefix(digest, "sha256:") {
		if err := CheckName(nameOrDigest); err != nil {
			return Image{}, err
		}
		text, err := os.ReadFile(s.path("names", nameOrDigest))
		if err != nil {
			return Image{}, fmt.Errorf("look up image: %w", err)
		}
		digest = strings.TrimSpace(string(text))
	}

	hex, err := ParseDigest(digest)
	if err != nil {
		return Image{}, err
	}

	meta, err := s.readMeta(hex)
	if err != nil {
		return Image{}, err
	}

	names, err := s.names()
	if err != nil {
		return Image{}, err
	}
	return s.image(meta, names, s.Layer)
}

// storeState changes when any process adds or removes a name or an image: they appear and disappear
// by rename and unlink, which change the directory's modification time.
type storeState struct{ names, images time.Time }

// state reads the current storeState. It is stable when both times are so old that a later change
// cannot have the same time: the kernel's clock for files ticks in milliseconds.
func (s *Store) state() (st storeState, stable bool) {
	names, err1 := os.Stat(s.path("names"))
	images, err2 := os.Stat(s.path("images"))
	if err1 != nil || err2 != nil {
		return storeState{}, false
	}
	st = storeState{names.ModTime(), images.ModTime()}
	const tick = 100 * time.Millisecond
	return st, time.Since(st.names) > tick && time.Since(st.images) > tick
}

// lookupCache caches the images found while the store is in one state.
type lookupCache struct {
	mu     sync.Mutex
	state  storeState
	images map[string]Image // guarded by mu; valid only for state
	all    []Image          // the same; nil: not known
}

func (k *lookupCache) get(name string, now storeState) (Image, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if now != k.state {
		return Image{}, false
	}
	img, ok := k.images[name]
	img.Names = slices.Clone(img.Names)
	return img, ok
}

func (k *lookupCache) put(name string, now storeState, img Image) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.begin(now)
	img.Names = slices.Clone(img.Names)
	k.images[name] = img
}

// begin drops what was valid for another state; k.mu is held.
func (k *lookupCache) begin(now storeState) {
	if now != k.state || k.images == nil {
		k.state, k.images, k.all = now, make(map[string]Image), nil
	}
}

func (k *lookupCache) getAll(now storeState) ([]Image, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if now != k.state || k.all == nil {
		return nil, false
	}
	return cloneImages(k.all), true
}

func (k *lookupCache) putAll(now storeState, all []Image) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.begin(now)
	k.all = cloneImages(all)
}

func cloneImages(images []Image) []Image {
	images = slices.Clone(images)
	for i := range images {
		images[i].Names = slices.Clone(images[i].Names)
	}
	return images
}

// foundCache caches the answers of Image.Has for images of layers.
type foundCache struct {
	mu    sync.Mutex
	known map[foundKey]bool // guarded by mu
}

// A foundKey names a path of a tree. An image of layers does not change: one that is stored again, or
// whose layer is replaced, has another time.
type foundKey struct {
	digest   string
	imported time.Time
	name     string
}

func (c *foundCache) get(k foundKey) (has, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	has, ok = c.known[k]
	return has, ok
}

func (c *foundCache) put(k foundKey, has bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil || len(c.known) >= maxFound {
		c.known = map[foundKey]bool{}
	}
	c.known[k] = has
}

// maxFound limits the answers that are kept.
const maxFound = 4096
