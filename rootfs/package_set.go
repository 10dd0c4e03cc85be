package rootfs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/rootfs/archive"
)

// A PackageSet is a set of packages that was installed for a language. Its files are a layer, with
// everything below /packages, which lies below the tree of a run's image.
type PackageSet struct {
	Key          string    `json:"key"`   // 64 hex digits: a hash of all that the set depends on
	Layer        string    `json:"layer"` // digest
	Owner        uint32    `json:"owner"` // user id of the caller who had it installed
	Language     string    `json:"language"`
	Kind         string    `json:"kind"`
	Index        string    `json:"index"`
	Requirements []string  `json:"requirements"`
	Installed    []string  `json:"installed"` // as the installer lists them
	Pinned       bool      `json:"pinned"`    // every requirement names one version: the set never becomes stale
	Size         int64     `json:"size"`
	Entries      int64     `json:"entries"`
	Created      time.Time `json:"created"`
	Used         time.Time `json:"-"` // the modification time of the set's file
}

// ErrNoPackages is wrapped by the error for a set of packages that is not stored.
var ErrNoPackages = errors.New("no such set of packages")

// usedTick is how exactly Used is known: a run in between writes nothing.
const usedTick = time.Minute

var packageKey = regexp.MustCompile(`^[0-9a-f]{64}$`)

// PackageSet returns a stored set with its layer, and notes that it was used.
func (s *Store) PackageSet(key string) (PackageSet, Layer, error) {
	set, err := s.readPackageSet(key)
	if err != nil {
		return set, Layer{}, err
	}
	layer, err := s.Layer(set.Layer)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w: %s", ErrNoPackages, key)
	}
	if now := time.Now(); err == nil && now.Sub(set.Used) > usedTick {
		err = os.Chtimes(s.path("packages", key), now, now)
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%w: %s was removed", ErrNoPackages, key)
		}
	}
	return set, layer, err
}

func (s *Store) readPackageSet(key string) (set PackageSet, err error) {
	if !packageKey.MatchString(key) {
		return set, fmt.Errorf("%w: %.80q is no key of one", ErrNoPackages, key)
	}
	f, err := os.Open(s.path("packages", key))
	if errors.Is(err, fs.ErrNotExist) {
		return set, fmt.Errorf("%w: %s", ErrNoPackages, key)
	}
	if err != nil {
		return set, fmt.Errorf("read set of packages: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return set, fmt.Errorf("read set of packages: %w", err)
	}
	if err := json.NewDecoder(f).Decode(&set); err != nil {
		return set, fmt.Errorf("read set of packages %s: %w: remove its file", key, err)
	}
	if set.Key != key {
		return set, fmt.Errorf("read set of packages %s: its file has the key %q: remove it", key, set.Key)
	}
	set.Used = info.ModTime()
	return set, nil
}

// PackageSets returns every stored set, the least recently used one first.
func (s *Store) PackageSets() ([]PackageSet, error) {
	files, err := os.ReadDir(s.path("packages"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // a store of a brig without packages, opened for reading
		return nil, fmt.Errorf("list sets of packages: %w", err)
	}
	var sets []PackageSet
	for _, f := range files {
		set, err := s.readPackageSet(f.Name())
		if errors.Is(err, ErrNoPackages) {
			continue // just removed
		}
		if err != nil {
			return nil, err
		}
		sets = append(sets, set)
	}
	slices.SortFunc(sets, func(a, b PackageSet) int { return a.Used.Compare(b.Used) })
	return sets, nil
}

// AddPackageSet reads the uncompressed archive of a set to its end and stores it under set.Key, which
// it replaces. All sets together may then have at most most bytes: those that were used least recently
// are removed, except for those that a cell uses. A process that is killed meanwhile leaves no set
// (PKG-09): the file with the key is renamed into its place when all else is on disk.
func (s *Store) AddPackageSet(ctx context.Context, r io.Reader, set PackageSet, bounds archive.Bounds, most int64) (_ PackageSet, err error) {
	if !packageKey.MatchString(set.Key) {
		return set, fmt.Errorf("BUG: %q is no key of a set of packages", set.Key)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, bounds.WithDefaults().Time, fmt.Errorf("%w: storing it took longer than %v", archive.ErrTooLarge, bounds.WithDefaults().Time))
	defer cancel()
	staging, err := s.newStagingDir()
	if err != nil {
		return set, err
	}
	defer func() { err = errors.Join(s.withSpaceHint(err), staging.Close()) }()
	layer, err := s.importLayerInto(ctx, staging, r, "", bounds)
	if err != nil {
		return set, err
	}
	set.Layer, set.Size, set.Entries, set.Created = layer.Digest, layer.Size, layer.Entries, time.Now().UTC()
	if err := staging.writeJSON("set", set); err != nil {
		return set, err
	}
	defer s.holds.end([]string{set.Layer}) // the set has it, or it is not needed
	var gone removals
	defer func() { err = errors.Join(err, gone.end()) }()
	unlock, err := s.lock()
	if err != nil {
		return set, err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	if err := s.checkLayers([]string{set.Layer}); err != nil { // removed as unused, in between
		return set, err
	}
	old, oerr := s.readPackageSet(set.Key)
	if err := os.Rename(filepath.Join(staging.Path, "set"), s.path("packages", set.Key)); err != nil {
		return set, fmt.Errorf("store set of packages: %w", err)
	}
	if err := syncDir(s.path("packages")); err != nil {
		return set, err
	}
	if oerr == nil && old.Layer != set.Layer {
		if err := s.discardLayerOf(old, &gone); err != nil {
			return set, err
		}
	}
	return set, s.evictPackages(set.Key, most, &gone)
}

// RemovePackageSet removes a set. Cells that use it keep its files until they end.
func (s *Store) RemovePackageSet(key string) (err error) {
	var gone removals
	defer func() { err = errors.Join(err, gone.end()) }()
	unlock, err := s.lock()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	set, err := s.readPackageSet(key)
	if err != nil {
		return err
	}
	return s.removePackageSet(set, &gone)
}

// removePackageSet removes a set. The caller holds the store's lock.
func (s *Store) removePackageSet(set PackageSet, gone *removals) error {
	if err := os.Remove(s.path("packages", set.Key)); err != nil {
		return fmt.Errorf("remove set of packages: %w", err)
	}
	return s.discardLayerOf(set, gone)
}

// discardLayerOf removes the layer of a set that is gone, if nothing else has it.
func (s *Store) discardLayerOf(set PackageSet, gone *removals) error {
	layer, err := s.Layer(set.Layer)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		_, err = s.discardLayers([]Layer{layer}, gone)
	}
	return err
}

// evictPackages removes sets until all together have at most most bytes. The caller holds the store's
// lock.
func (s *Store) evictPackages(keep string, most int64, gone *removals) error {
	sets, err := s.PackageSets()
	if err != nil {
		return err
	}
	var total int64
	for _, set := range sets {
		total += set.Size
	}
	for _, set := range sets {
		if total <= most {
			return nil
		}
		if set.Key == keep || s.inUse(set.Layer) {
			continue
		}
		if err := s.removePackageSet(set, gone); err != nil {
			return err
		}
		total -= set.Size
	}
	return nil
}

// inUse reports whether a cell has locked a layer.
func (s *Store) inUse(layer string) bool {
	dir, err := os.Open(s.path("layers", strings.TrimPrefix(layer, "sha256:")))
	if err != nil {
		return false
	}
	defer dir.Close()
	return errors.Is(Flock(dir, unix.LOCK_EX|unix.LOCK_NB), unix.EWOULDBLOCK)
}

// cleanPackages removes sets whose layer is gone. The caller holds the store's lock.
func (s *Store) cleanPackages() error {
	sets, err := s.PackageSets()
	if err != nil {
		return err
	}
	for _, set := range sets {
		if _, lerr := s.Layer(set.Layer); errors.Is(lerr, fs.ErrNotExist) {
			err = errors.Join(err, os.Remove(s.path("packages", set.Key)))
		}
	}
	return err
}

// WithPackages returns the image with a layer of packages below it.
func (img Image) WithPackages(l Layer) Image {
	img.Layers = append([]Layer{l}, img.Layers...)
	img.Packages = l.Digest
	img.Size, img.Entries = img.Size+l.Size, img.Entries+l.Entries
	return img
}
