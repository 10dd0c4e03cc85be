package rootfs

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/internal/flock"
	"github.com/brig-sandbox/brig/rootfs/archive"
	"github.com/brig-sandbox/brig/rootfs/recipes"
)

// A Store is a directory of unpacked images. All processes that open it share it:
//
//	lock                 flocked while names or images change
//	images/<hex>/root    a tree, by the sha256 of its archive
//	images/<hex>/image.json
//	images/<hex>/record  the state of each member of the tree when it was imported
//	layers/<hex>/root    the tree of a layer, by the sha256 of its uncompressed archive
//	layers/<hex>/layer.json, directories.json, record
//	names/<name>         a file that contains a digest
//	work/<random>/       the staging directory of an import, flocked by its owner; or a
//	                     directory with a removed image in gone/ that is still locked
//
// Everything belongs to root and is writable by root alone. The directory needs a file system with
// idmapped mounts; package runtime checks that.
type Store struct {
	dir   string
	cache lookupCache
	holds holds
	found foundCache
}

// An Image is one stored tree.
type Image struct {
	Digest   string    `json:"digest"` // "sha256:" and 64 hex digits, of the original archive
	Names    []string  `json:"names"`  // sorted; may be empty
	Path     string    `json:"path"`   // of the tree on this host
	Size     int64     `json:"size"`   // bytes of all files, unpacked
	Archive  int64     `json:"archive_size"`
	Entries  int64     `json:"entries"`
	Imported time.Time `json:"imported"`

	// An image of layers has the tree at Path above those of its layers. It holds what a cell
	// relies on.
	Layers []Layer `json:"layers,omitempty"` // lowest first, without those that others hide
	Config Config  `json:"config"`
	Origin Origin  `json:"origin"` // of its first import

	Origins map[string]Origin `json:"origins,omitempty"` // by name, of the latest import under it

	Replaced bool `json:"-"` // set by Import: it replaced a damaged image

	Packages string      `json:"-"` // set by WithPackages: digest of the layer with the packages, which is one of Layers
	found    *foundCache // of the store
}

// AccountBytes limits the total size of /etc/passwd and /etc/group of an image, which its Size does
// not include.
const AccountBytes = archive.AccountBytes

// imageMeta is the content of image.json.
type imageMeta struct {
	Digest   string    `json:"digest"`
	Archive  int64     `json:"archive_size"`
	Size     int64     `json:"size"`
	Entries  int64     `json:"entries"`
	Imported time.Time `json:"imported"`
	Record   string    `json:"record"` // sha256 of the tree's record

	// Of an image of layers alone.
	Layers []string `json:"layers,omitempty"` // digests, lowest first
	Config *Config  `json:"config,omitempty"`
	Origin *Origin  `json:"origin,omitempty"`

	Origins map[string]Origin `json:"origins,omitempty"` // by name; may have names that were removed
}

// Open opens the store in dir, makes it if it is missing, and removes the remains of interrupted
// imports.
func Open(dir string) (*Store, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	s := &Store{dir: dir}
	for _, d := range []string{"", "images", "layers", "names", "packages", "work"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			return nil, fmt.Errorf("open image store: %w", err)
		}
	}
	return s, s.Clean()
}

// OpenReadOnly returns the store in dir for reading. It makes and removes nothing.
func OpenReadOnly(dir string) *Store { return &Store{dir: dir} }

// Dir returns the store's directory.
func (s *Store) Dir() string { return s.dir }

// Free returns the bytes that are free on the file system of a directory.
func Free(dir string) (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, fmt.Errorf("read the free space of %s: %w", dir, err)
	}
	return int64(st.Bavail) * st.Bsize, nil
}

// List returns every image, sorted by digest. It reads files only if the store has changed: any caller
// may ask for the list as often as it likes (IMG-53).
func (s *Store) List() ([]Image, error) {
	now, stable := s.state()
	if images, ok := s.cache.getAll(now); ok {
		return images, nil
	}
	images, err := s.readAll()
	if err == nil && stable {
		s.cache.putAll(now, images)
	}
	return images, err
}

// readAll is List without the cache.
func (s *Store) readAll() ([]Image, error) {
	dirs, err := os.ReadDir(s.path("images"))
	if err != nil {
		return nil, fmt.Errorf("list images: %w", err)
	}

	names, err := s.names()
	if err != nil {
		return nil, err
	}

	layer := s.readOnce()
	var images []Image
	for _, d := range dirs {
		meta, err := s.readMeta(d.Name())
		if errors.Is(err, fs.ErrNotExist) {
			continue // just removed
		}
		if err != nil {
			return nil, err
		}

		img, err := s.image(meta, names, layer)
		if errors.Is(err, fs.ErrNotExist) {
			continue // just removed, with its layers
		}
		if err != nil {
			return nil, err
		}

		images = append(images, img)
	}

	return images, nil
}

// Remove removes a name or, given a digest, the image and all its names. It also removes an image
// that loses its last name. Remove does not know which cells use a tree: the agent must check that
// first.
func (s *Store) Remove(nameOrDigest string) (err error) {
	gone, unlock, err := s.lockToRemove()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()

	img, err := s.Lookup(nameOrDigest)
	if err != nil {
		return err
	}

	names := img.Names
	if img.Digest != nameOrDigest {
		names = []string{nameOrDigest}
	}

	for _, name := range names {
		if err := os.Remove(s.path("names", name)); err != nil {
			return fmt.Errorf("remove name: %w", err)
		}
	}

	if len(names) < len(img.Names) {
		return nil
	}
	return s.discard(img, gone)
}

// RemoveUnnamed removes an image if no name refers to it, and reports whether it did. If an import
// that will name the image has the store's lock, RemoveUnnamed waits for it.
func (s *Store) RemoveUnnamed(digest string) (removed bool, err error) {
	gone, unlock, err := s.lockToRemove()
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, unlock()) }()

	img, err := s.Lookup(digest)
	if errors.Is(err, ErrNotFound) || err == nil && len(img.Names) > 0 {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, s.discard(img, gone)
}

// discard moves an image out of images/, and those of its layers that no other image has out of
// layers/. The caller holds the store's lock, and ends gone when it no longer does.
func (s *Store) discard(img Image, gone *removals) error {
	hex, err := ParseDigest(img.Digest)
	if err != nil {
		return err
	}
	if err := s.discardDir(s.path("images", hex), gone); err != nil {
		return err
	}
	_, err = s.discardLayers(img.Layers, gone)
	return err
}

// removals are the staging directories of images and layers that are no longer stored. Deleting a tree
// of a million directories takes minutes, in which nobody could import or remove another image if the
// store's lock were held (IMG-56).
type removals []*StagingDir

// end deletes them. A process that dies before leaves them to the next Clean.
func (r removals) end() (err error) {
	for _, w := range r {
		err = errors.Join(err, w.Close())
	}
	return err
}

// discardDir moves the directory of an image or a layer to a staging directory.
func (s *Store) discardDir(path string, gone *removals) error {
	staging, err := MakeStagingDir(s.path("work"), "")
	if err != nil {
		return err
	}
	if err := os.Rename(path, filepath.Join(staging.Path, "gone")); err != nil {
		return errors.Join(fmt.Errorf("remove image: %w", err), staging.Close())
	}
	*gone = append(*gone, staging)
	return nil
}

// image describes an image. layer describes a layer.
func (s *Store) image(meta imageMeta, names map[string][]string,
	layer func(digest string) (Layer, error)) (Image, error) {
	hex := strings.TrimPrefix(meta.Digest, "sha256:")
	img := Image{
		Digest: meta.Digest, Names: names[meta.Digest], Path: s.path("images", hex, "root"),
		Size: meta.Size, Archive: meta.Archive, Entries: meta.Entries, Imported: meta.Imported,
		found: &s.found,
	}

	if meta.Config != nil {
		img.Config = *meta.Config
	}
	if meta.Origin != nil {
		img.Origin = *meta.Origin
	}

	for _, name := range img.Names {
		if o, ok := meta.Origins[name]; ok {
			if img.Origins == nil {
				img.Origins = map[string]Origin{}
			}
			img.Origins[name] = o
		}
	}

	for _, digest := range meta.Layers {
		l, err := layer(digest)
		if err != nil {
			return Image{}, err
		}
		img.Layers = append(img.Layers, l)
	}

	return img, nil
}

func (s *Store) readMeta(hex string) (imageMeta, error) {
	return readMeta(s.path("images", hex), hex)
}

// readMeta reads the image.json in dir, an image's directory that may have been moved.
func readMeta(dir, hex string) (imageMeta, error) {
	return readMetadata(dir, "image", hex, func(m imageMeta) string { return m.Digest })
}

// readMetadata reads the file KIND.json in dir, the directory of an image or a layer with a digest.
func readMetadata[M any](dir, kind, hex string, digest func(M) string) (meta M, err error) {
	text, err := os.ReadFile(filepath.Join(dir, kind+".json"))
	if err != nil {
		return meta, fmt.Errorf("read %s: %w", kind, err)
	}
	if err := json.Unmarshal(text, &meta); err != nil {
		return meta, fmt.Errorf("read %s %s: %w", kind, hex, err)
	}
	if d := digest(meta); d != "sha256:"+hex {
		return meta, fmt.Errorf("read %s %s: its %s.json has the digest %q: remove the directory", kind, hex, kind, d)
	}
	return meta, nil
}

// names maps digests to their names, sorted.
func (s *Store) names() (map[string][]string, error) {
	files, err := os.ReadDir(s.path("names"))
	if err != nil {
		return nil, fmt.Errorf("list image names: %w", err)
	}

	names := make(map[string][]string)
	for _, f := range files {
		text, err := os.ReadFile(s.path("names", f.Name()))
		if errors.Is(err, fs.ErrNotExist) || CheckName(f.Name()) != nil {
			continue // just removed, or being written
		}
		if err != nil {
			return nil, fmt.Errorf("list image names: %w", err)
		}
		digest := strings.TrimSpace(string(text))
		names[digest] = append(names[digest], f.Name())
	}

	for _, list := range names {
		slices.Sort(list)
	}
	return names, nil
}

// someNames lists the first images with a name, for an error text, and how many more there are. Any
// caller may name an image that does not exist, as often as it likes: this reads two directories, and no
// file of an image (IMG-53).
func (s *Store) someNames() []string {
	named, _ := os.ReadDir(s.path("names")) // sorted
	images, _ := os.ReadDir(s.path("images"))
	var all []string
	for _, f := range named {
		if CheckName(f.Name()) == nil {
			all = append(all, f.Name())
		}
	}

	if len(all) == 0 { // images without a name alone
		for _, d := range images {
			all = append(all, "sha256:"+d.Name())
		}
	}
	if len(all) > 10 {
		all = append(all[:10], fmt.Sprintf("and %d more", len(all)-10))
	}
	return all
}

func (s *Store) notFound(name string) error {
	stored := "no image is stored"
	if all := s.someNames(); len(all) > 0 {
		stored = "stored: " + strings.Join(all, ", ")
	}

	hint := "pull it with: brig rootfs pull REFERENCE --name " + name +
		", import it with: brig rootfs import TARBALL --name " + name +
		", or docker export CONTAINER | brig rootfs import - --name " + name
	if recipes.Has(name) {
		hint = "build it with: brig rootfs build " + name
	} else if strings.HasPrefix(name, "sha256:") {
		hint = "import it with: brig rootfs import TARBALL"
	}

	return fmt.Errorf("%w: %q (%s); %s", ErrNotFound, name, stored, hint)
}

func (s *Store) path(parts ...string) string {
	return filepath.Join(append([]string{s.dir}, parts...)...)
}

// lock keeps other processes from changing names and images.
func (s *Store) lock() (unlock func() error, err error) {
	f, err := os.OpenFile(s.path("lock"), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("lock image store: %w", err)
	}
	if err := flock.Lock(f); err != nil {
		return nil, errors.Join(fmt.Errorf("lock image store: %w", err), f.Close())
	}
	return f.Close, nil
}

// lockToRemove is lock for a caller that removes images or layers. unlock also deletes what was removed.
func (s *Store) lockToRemove() (gone *removals, unlock func() error, err error) {
	locked, err := s.lock()
	if err != nil {
		return nil, nil, err
	}
	gone = new(removals)
	return gone, func() error { return errors.Join(locked(), gone.end()) }, nil
}
