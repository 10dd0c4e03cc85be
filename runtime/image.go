package runtime

import (
	"errors"
	"log/slog"
	"os"
	"sync/atomic"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/rootfs"
	"github.com/brig-sandbox/brig/runtime/plan"
)

// images are the images that cells use: it locks them against deletion, keeps their files in
// memory, and copies them.
type images struct {
	store       *rootfs.Store
	log         *slog.Logger
	program     *os.File                // sealed memfd of imageFilesELF
	oomScoreAdj int                     // of its children
	step        func(name string) error // see Host.step

	pages   *imagePages
	removed chan struct{} // buffered by one; signals that images were removed from the store
	retired atomic.Bool   // a removed image is no longer in use: see deleteRetired
}

// newImages keeps at most most of the images' files in memory; zero: none. readOnce: the files are
// read once, and none is locked.
func newImages(store *rootfs.Store, log *slog.Logger, oomScoreAdj int, most api.Size, readOnce bool, step func(name string) error) (*images, error) {
	program, err := sealedMemfd("imagefiles", imageFilesELF, true)
	if err != nil {
		return nil, err
	}
	i := &images{store: store, log: log, program: program, oomScoreAdj: oomScoreAdj, step: step, removed: make(chan struct{}, 1)}
	i.pages = newImagePages(i, most, readOnce)
	return i, nil
}

// Close unlocks all pages and deletes the removed images. No run may be under way.
func (i *images) Close() error {
	i.pages.Close()
	i.deleteRetired()
	return i.program.Close()
}

// imageLock is the lock that a cell has on its image, which is not deleted meanwhile.
type imageLock struct {
	images *images
	lock   *rootfs.ImageLock
}

func (i *images) lockImage(image rootfs.Image) (*imageLock, error) {
	lock, err := i.store.LockImage(image)
	if errors.Is(err, rootfs.ErrNotFound) {
		return nil, api.Refuse(api.CodeNoImage, "%w", err)
	}
	if err != nil {
		return nil, err
	}
	return &imageLock{i, lock}, nil
}

// tree opens the image's tree.
func (l *imageLock) tree() (*os.File, error) { return l.lock.Tree() }

// Close releases the image. Deleting a removed image takes long and is left to the pool's
// goroutine.
func (l *imageLock) Close() error {
	removed, err := l.lock.Close()
	if removed {
		l.images.retired.Store(true)
		l.images.signalRemoved()
	}
	return err
}

// signalRemoved has the pool close the cells of images that were removed from the store or
// replaced, as soon as they are unused, and delete the trees of those images.
func (i *images) signalRemoved() {
	select {
	case i.removed <- struct{}{}:
	default: // a request is pending already
	}
}

// stores reports whether the store still has an image with this tree.
func (i *images) stores(t plan.ImageTree) bool {
	img, err := i.store.Lookup(t.Image)
	return err == nil && plan.TreeOf(img) == t
}

// releaseUnused unlocks pages that no cell has used for a while, or whose image is no longer
// stored, and deletes the removed images that cells had used.
func (i *images) releaseUnused() {
	i.pages.releaseUnused()
	i.deleteRetired()
}

// ensureWorkspace makes sure that an image has a mount point for a volume.
func (i *images) ensureWorkspace(image string) error {
	err := i.store.EnsureWorkspace(image)
	if errors.Is(err, rootfs.ErrNoWorkspace) {
		return api.Refuse(api.CodeBadImage, "%w", err)
	}
	return err
}

// deleteRetired deletes the removed images that cells had used.
func (i *images) deleteRetired() {
	if !i.retired.Swap(false) {
		return
	}
	if err := i.store.Clean(); err != nil {
		i.log.Error("removed images not deleted", "err", err)
	}
}
