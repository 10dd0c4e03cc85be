package rootfs

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"time"

	"github.com/brig-sandbox/brig/rootfs/archive"
)

// MaxImageBytes is the most bytes that the files of an image may have together.
func MaxImageBytes() int64 { return (archive.Bounds{}).WithDefaults().Bytes }

// holdTime is how long a layer that was imported waits for its image.
const holdTime = time.Hour

// holds are the layers that were imported and have no image yet: a pull is under way that will name them.
// Without a hold, a removal of unused layers, or of another image that has them, would take them from the
// pull (IMG-46). They are this process's: a pull does not outlive the agent.
type holds struct {
	mu    sync.Mutex
	until map[string][]time.Time // guarded by mu; for each import, by digest
}

func (h *holds) add(digest string, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.until == nil {
		h.until = map[string][]time.Time{}
	}
	h.until[digest] = append(h.live(digest, now), now.Add(holdTime))
}

// end ends one hold of each digest: the oldest.
func (h *holds) end(digests []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, d := range slices.Compact(slices.Sorted(slices.Values(digests))) {
		if left := h.until[d]; len(left) > 1 {
			h.until[d] = left[1:]
		} else {
			delete(h.until, d)
		}
	}
}

func (h *holds) has(digest string, now time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.live(digest, now)) > 0
}

// live returns the holds that are not over. The caller has the lock.
func (h *holds) live(digest string, now time.Time) []time.Time {
	return slices.DeleteFunc(h.until[digest], func(t time.Time) bool { return !now.Before(t) })
}

// Abandon says that no image will be made of a layer that was imported, and removes it if no image has it
// and no other import holds it.
func (s *Store) Abandon(digest string) (err error) {
	s.holds.end([]string{digest})
	gone, unlock, err := s.lockToRemove()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()

	layer, err := s.Layer(digest)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %s", ErrNoLayer, digest)
	}
	if err != nil {
		return err
	}

	_, err = s.discardLayers([]Layer{layer}, gone)
	return err
}

// removedMeanwhile says that a layer is gone, if that is why the image could not be stored.
func (s *Store) removedMeanwhile(d Spec, err error) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if missing := s.checkLayers(d.Layers); missing != nil {
		return missing
	}
	return fmt.Errorf("%w: one was removed, and imported again, while the image was stored: store the image again",
		ErrNoLayer)
}
