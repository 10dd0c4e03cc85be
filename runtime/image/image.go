// Package image gives cells the files of stored images: it locks images against deletion, keeps their
// files in memory, and copies them for mode exclusive.
package image

import (
	"errors"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/rootfs"
	"github.com/brig-sandbox/brig/runtime/linux"
	"github.com/brig-sandbox/brig/runtime/plan"
)

// Images are the images that cells use: it locks them against deletion, keeps their files in
// memory, and copies them.
type Images struct {
	Store       *rootfs.Store
	log         *slog.Logger
	program     *os.File                // sealed memfd of imageFilesELF
	oomScoreAdj int                     // of its children
	step        func(name string) error // see Host.step

	Pages   *imagePages
	Removed chan struct{} // buffered by one; signals that images were removed from the store
	damage  damage
	retired atomic.Bool // a removed image is no longer in use: see deleteRetired

	mu     sync.Mutex
	shared map[plan.ImageTree]*sharedLock // guarded by mu
}

// New keeps at most maximum of the images' files in memory; zero: none. readOnce: the files are
// read once, and none is locked.
func New(store *rootfs.Store, log *slog.Logger, oomScoreAdj int, maximum api.Size, readOnce bool,
	step func(name string) error) (*Images, error) {
	program, err := linux.SealedMemfd("imagefiles", imageFilesELF, true)
	if err != nil {
		return nil, err
	}
	i := &Images{Store: store, log: log, program: program, oomScoreAdj: oomScoreAdj, step: step,
		Removed: make(chan struct{}, 1), shared: map[plan.ImageTree]*sharedLock{}}
	i.Pages = newImagePages(i, maximum, readOnce)
	return i, nil
}

// Close unlocks all pages and deletes the removed images. No run may be under way.
func (i *Images) Close() error {
	i.Pages.Close()
	i.deleteRetired()
	return i.program.Close()
}

// Lock is the lock that a cell has on its image, which is not deleted meanwhile.
type Lock struct {
	images *Images
	lock   *rootfs.ImageLock
	shared *sharedLock // nil: it is this cell's alone
}

// A sharedLock is the lock of all cells on one image of layers: it has a descriptor for each layer, of
// which an agent cannot have as many for each cell.
type sharedLock struct {
	key   plan.ImageTree
	lock  *rootfs.ImageLock
	users int // guarded by Images.mu
}

// Lock locks an image. A missing image is an *api.Error.
func (i *Images) Lock(image rootfs.Image) (*Lock, error) {
	if len(image.Layers) == 0 {
		return i.locked(i.Store.LockImage(image))
	}

	i.mu.Lock()
	defer i.mu.Unlock()

	key := plan.TreeOf(image)
	if s := i.shared[key]; s != nil && !s.lock.Removed() {
		s.users++
		return &Lock{i, s.lock, s}, nil
	}

	l, err := i.locked(i.Store.LockImage(image))
	if image.Packages != "" && api.HasCode(err, api.CodeNoImage) && i.Store.Has(image.Digest) { // removed since the run was planned
		return nil, api.Fail(api.CodePackagesMissing, "the packages of the run were removed just now: send it again")
	}
	if err != nil {
		return nil, err
	}

	l.shared = &sharedLock{key: key, lock: l.lock, users: 1}
	i.shared[key] = l.shared
	return l, nil
}

func (i *Images) locked(lock *rootfs.ImageLock, err error) (*Lock, error) {
	if errors.Is(err, rootfs.ErrNotFound) {
		return nil, api.Refuse(api.CodeNoImage, "%w", err)
	}
	if err != nil {
		return nil, err
	}
	return &Lock{images: i, lock: lock}, nil
}

// release reports whether the lock is to be closed: nobody else has it.
func (l *Lock) release() bool {
	if l.shared == nil {
		return true
	}

	l.images.mu.Lock()
	defer l.images.mu.Unlock()

	l.shared.users--
	if l.shared.users > 0 {
		return false
	}
	if l.images.shared[l.shared.key] == l.shared {
		delete(l.images.shared, l.shared.key)
	}
	return true
}

// Trees opens the image's trees, the topmost first. The caller closes them.
func (l *Lock) Trees() ([]*os.File, error) { return l.lock.Trees() }

// Close releases the image. Deleting a removed image takes long and is left to the pool's
// goroutine.
func (l *Lock) Close() error {
	if !l.release() {
		return nil
	}
	removed, err := l.lock.Close()
	if removed {
		l.images.retired.Store(true)
		l.images.SignalRemoved()
	}
	return err
}

// SignalRemoved has the pool close the cells of images that were removed from the store or
// replaced, as soon as they are unused, and delete the trees of those images.
func (i *Images) SignalRemoved() {
	select {
	case i.Removed <- struct{}{}:
	default: // a request is pending already
	}
}

// Stores reports whether the store still has an image with this tree.
func (i *Images) Stores(t plan.ImageTree) bool {
	if digest, ok := strings.CutPrefix(t.Image, layerPrefix); ok {
		l, err := i.Store.Layer(digest)
		return err == nil && l.Imported.Equal(t.Imported)
	}
	img, err := i.Store.Lookup(t.Image)
	if err == nil && t.Packages != "" {
		layer, err := i.Store.Layer(t.Packages)
		return err == nil && plan.TreeOf(img.WithPackages(layer)) == t
	}
	own := img
	own.Layers = nil // the key of its own pages: see treesOf
	return err == nil && (plan.TreeOf(img) == t || plan.TreeOf(own) == t)
}

// ReleaseUnused unlocks pages that no cell has used for a while, or whose image is no longer
// stored, and deletes the removed images that cells had used.
func (i *Images) ReleaseUnused() {
	i.Pages.releaseUnused()
	i.damage.forget(i.Stores)
	i.deleteRetired()
}

// EnsureWorkspace makes sure that an image has a mount point for a volume.
func (i *Images) EnsureWorkspace(image string) error {
	err := i.Store.EnsureWorkspace(image)
	if errors.Is(err, rootfs.ErrNoWorkspace) {
		return api.Refuse(api.CodeBadImage, "%w", err)
	}
	return err
}

// deleteRetired deletes the removed images that cells had used.
func (i *Images) deleteRetired() {
	if !i.retired.Swap(false) {
		return
	}
	if err := i.Store.Clean(); err != nil {
		i.log.Error("removed images not deleted", "err", err)
	}
}
