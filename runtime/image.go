package runtime

import (
	"errors"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/rootfs"
)

// imageLock is the lock that a cell has on its image, which is not deleted meanwhile.
type imageLock struct {
	host *Host
	lock *rootfs.ImageLock
}

func (h *Host) lockImage(image rootfs.Image) (*imageLock, error) {
	hold, err := h.cfg.Images.LockImage(image)
	if errors.Is(err, rootfs.ErrNotFound) {
		return nil, api.Refuse(api.CodeNoImage, "%w", err)
	}
	if err != nil {
		return nil, err
	}
	return &imageLock{h, hold}, nil
}

// Close releases the image. Deleting a removed image takes long and is left to the pool's
// goroutine.
func (i *imageLock) Close() error {
	removed, err := i.lock.Close()
	if removed {
		i.host.retired.Store(true)
		i.host.ImagesRemoved()
	}
	return err
}

// ImagesRemoved has the pool close the cells of images that were removed from the store or
// replaced, as soon as they are unused, and delete the trees of those images.
func (h *Host) ImagesRemoved() {
	select {
	case h.pool.removed <- struct{}{}:
	default: // a request is pending already
	}
}

// deleteRetired deletes the removed images that cells had used.
func (h *Host) deleteRetired() {
	if !h.retired.Swap(false) {
		return
	}
	if err := h.cfg.Images.Clean(); err != nil {
		h.log.Error("removed images not deleted", "err", err)
	}
}
