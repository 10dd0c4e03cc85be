package runtime

import (
	"errors"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/rootfs"
)

// A heldImage is one that a cell has, and that stays whole as long.
type heldImage struct {
	host *Host
	hold *rootfs.Hold
}

func (h *Host) hold(image rootfs.Image) (*heldImage, error) {
	hold, err := h.cfg.Images.Hold(image)
	if errors.Is(err, rootfs.ErrNotFound) {
		return nil, api.Refuse(api.CodeNoImage, "%w", err)
	}
	if err != nil {
		return nil, err
	}
	return &heldImage{h, hold}, nil
}

// Close lets go of the image. To delete one that was removed takes long, and is the
// pool's janitor's.
func (i *heldImage) Close() error {
	removed, err := i.hold.Close()
	if removed {
		i.host.retired.Store(true)
		i.host.ImagesRemoved()
	}
	return err
}

// ImagesRemoved has the cells of images that are stored no more, or were replaced, closed as
// soon as nobody uses them, and their trees deleted.
func (h *Host) ImagesRemoved() {
	select {
	case h.pool.removed <- struct{}{}:
	default: // it will look anyway
	}
}

// deleteRetired deletes the removed images that cells had.
func (h *Host) deleteRetired() {
	if !h.retired.Swap(false) {
		return
	}
	if err := h.cfg.Images.Clean(); err != nil {
		h.log.Error("removed images not deleted", "err", err)
	}
}
