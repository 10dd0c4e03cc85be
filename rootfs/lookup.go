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

// Lookup finds an image by name or digest. When there is none the error wraps
// ErrNotFound and says what there is. It is cheap enough to ask before each run.
func (s *Store) Lookup(nameOrDigest string) (Image, error) {
	img, err := s.look(nameOrDigest)
	if errors.Is(err, fs.ErrNotExist) {
		err = s.notFound(nameOrDigest)
	}
	return img, err
}

// Has reports whether there is an image of the name or digest. What there is else is not
// read, as Lookup does to say it.
func (s *Store) Has(nameOrDigest string) bool {
	_, err := s.look(nameOrDigest)
	return err == nil
}

// look is Lookup with an error that wraps fs.ErrNotExist.
func (s *Store) look(nameOrDigest string) (Image, error) {
	now, settled := s.state()
	if img, ok := s.known.get(nameOrDigest, now); ok {
		return img, nil
	}
	img, err := s.find(nameOrDigest)
	if err == nil && settled {
		s.known.put(nameOrDigest, now, img)
	}
	return img, err
}

func (s *Store) find(nameOrDigest string) (Image, error) {
	digest := nameOrDigest
	if !strings.HasPrefix(digest, "sha256:") {
		if err := checkName(nameOrDigest); err != nil {
			return Image{}, err
		}
		text, err := os.ReadFile(s.path("names", nameOrDigest))
		if err != nil {
			return Image{}, fmt.Errorf("look up image: %w", err)
		}
		digest = strings.TrimSpace(string(text))
	}
	hex, err := parseDigest(digest)
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
	return s.image(meta, names), nil
}

// storeState changes with every name and image, in whichever process: both come
// and go by rename and unlink, which the directory's time shows.
type storeState struct{ names, images time.Time }

// state reads it. It is settled once both times are so old that another change
// could not bear the same one: the kernel's clock for files ticks in
// milliseconds.
func (s *Store) state() (st storeState, settled bool) {
	names, err1 := os.Stat(s.path("names"))
	images, err2 := os.Stat(s.path("images"))
	if err1 != nil || err2 != nil {
		return storeState{}, false
	}
	st = storeState{names.ModTime(), images.ModTime()}
	const tick = 100 * time.Millisecond
	return st, time.Since(st.names) > tick && time.Since(st.images) > tick
}

// known are the images found while the store was in one state.
type known struct {
	mu     sync.Mutex
	state  storeState
	images map[string]Image // guarded by mu; valid for state alone
}

func (k *known) get(name string, now storeState) (Image, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if now != k.state {
		return Image{}, false
	}
	img, ok := k.images[name]
	img.Names = slices.Clone(img.Names)
	return img, ok
}

func (k *known) put(name string, now storeState, img Image) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if now != k.state || k.images == nil {
		k.state, k.images = now, make(map[string]Image)
	}
	img.Names = slices.Clone(img.Names)
	k.images[name] = img
}
