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
	"sync"
	"time"

	"github.com/brig-sandbox/brig/internal/durable"
	"github.com/brig-sandbox/brig/internal/flock"
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
	Size         int64     `json:"size"`      // bytes on disk, as its own files count: files in whole blocks, names, the record
	Entries      int64     `json:"entries"`
	Created      time.Time `json:"created"`
	Used         time.Time `json:"-"` // the modification time of the set's file
}

// ErrNoPackages is wrapped by the error for a set of packages that is not stored.
var ErrNoPackages = errors.New("no such set of packages")

// PackagesLife is how long a set serves if its requirements leave a choice of versions. Then it is
// installed again.
const PackagesLife = 24 * time.Hour

// Stale reports whether a set serves no more.
func (p PackageSet) Stale(now time.Time) bool {
	return !p.Pinned && now.Sub(p.Created) > PackagesLife
}

// usedTick is how exactly Used is known: a run in between writes nothing.
const usedTick = time.Minute

var packageKey = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9a-f]{64}$`) })

// PackageSet returns a stored set with its layer, and notes that it was used.
func (s *Store) PackageSet(key string) (PackageSet, Layer, error) {
	set, err := s.LookupPackageSet(key)
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

// LookupPackageSet is PackageSet for a caller that does not use the set.
func (s *Store) LookupPackageSet(key string) (set PackageSet, err error) {
	if !packageKey().MatchString(key) {
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
	return s.packageSets(func(*PackageSet) {})
}

// CountPackageSets returns how many sets are stored.
func (s *Store) CountPackageSets() (int, error) {
	files, err := os.ReadDir(s.path("packages"))
	return len(files), err
}

// briefPackageSets is PackageSets without the two lists of each set, which callers and packages chose:
// only who lists sets for a caller needs them.
func (s *Store) briefPackageSets() ([]PackageSet, error) {
	return s.packageSets(func(p *PackageSet) { p.Requirements, p.Installed = nil, nil })
}

func (s *Store) packageSets(trim func(*PackageSet)) ([]PackageSet, error) {
	files, err := os.ReadDir(s.path("packages"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // a store of a brig without packages, opened for reading
		return nil, fmt.Errorf("list sets of packages: %w", err)
	}

	var sets []PackageSet
	for _, f := range files {
		set, err := s.LookupPackageSet(f.Name())
		if errors.Is(err, ErrNoPackages) {
			continue // just removed
		}
		if err != nil {
			return nil, err
		}
		trim(&set)
		sets = append(sets, set)
	}

	slices.SortFunc(sets, func(a, b PackageSet) int { return a.Used.Compare(b.Used) })
	return sets, nil
}

// AddPackageSet reads the uncompressed archive of a set to its end and stores it under set.Key, which
// it replaces. All sets together may then take at most maximum bytes: stale sets, and those that makeRoom
// chooses, are removed, except for those that a cell uses. The error wraps ErrPackagesFull if that is not
// enough. A process that is killed meanwhile leaves no set (PKG-09): the file with the key is renamed into
// its place when all else is on disk.
func (s *Store) AddPackageSet(ctx context.Context, r io.Reader, set PackageSet, bounds archive.Bounds,
	maximum int64) (_ PackageSet, err error) {
	if !packageKey().MatchString(set.Key) {
		return set, fmt.Errorf("BUG: %q is no key of a set of packages", set.Key)
	}

	ctx, cancel := context.WithTimeoutCause(ctx, bounds.WithDefaults().Time,
		fmt.Errorf("%w: storing it took longer than %v", archive.ErrTooLarge, bounds.WithDefaults().Time))
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
	defer func() { err = errors.Join(err, s.endImport(layer.Digest, err == nil)) }()

	set.Layer, set.Size, set.Entries, set.Created = layer.Digest, layer.Disk+packageSetFiles,
		layer.Entries, time.Now().UTC()
	if err := staging.writeJSON("set", set); err != nil {
		return set, err
	}
	return set, s.publishPackageSet(staging, set, maximum)
}

// packageSetFiles is what the store's own files and directories of a set take on disk: its file, and five
// of its layer.
const packageSetFiles = 6 * archive.DirBytes

// endImport ends the hold of a layer that was imported for a set. If the set was not stored, the layer goes,
// too: nothing else would remove it before brig rootfs gc.
func (s *Store) endImport(digest string, stored bool) error {
	if stored {
		s.holds.end([]string{digest})
		return nil
	}
	if err := s.Abandon(digest); !errors.Is(err, ErrNoLayer) {
		return err
	}
	return nil
}

// publishPackageSet moves the file of a set from the staging directory into its place, and removes the
// sets that make room for it.
func (s *Store) publishPackageSet(staging *StagingDir, set PackageSet, maximum int64) (err error) {
	gone, unlock, err := s.lockToRemove()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()

	if err := s.checkLayers([]string{set.Layer}); err != nil { // removed as unused, in between
		return err
	}

	sets, err := s.briefPackageSets()
	if err != nil {
		return err
	}

	victims, err := makeRoom(sets, set, packageBounds{maximum, maxPackageSets}, s.inUse)
	if err != nil {
		return err
	}
	if err := os.Rename(filepath.Join(staging.Path, "set"), s.path("packages", set.Key)); err != nil {
		return fmt.Errorf("store set of packages: %w", err)
	}
	if err := durable.SyncDir(s.path("packages")); err != nil {
		return err
	}

	for _, old := range sets {
		if old.Key == set.Key { // its file is replaced
			return s.removePackageSets(victims, []PackageSet{old}, gone)
		}
	}

	return s.removePackageSets(victims, nil, gone)
}

// RemovePackageSet removes a set. Cells that use it keep its files until they end.
func (s *Store) RemovePackageSet(key string) (err error) {
	gone, unlock, err := s.lockToRemove()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	set, err := s.LookupPackageSet(key)
	if err != nil {
		return err
	}
	return s.removePackageSets([]PackageSet{set}, nil, gone)
}

// removePackageSets removes sets, and the layers of these and of replaced sets that nothing else has. It
// reads what the store has once, however many sets they are. The caller holds the store's lock.
func (s *Store) removePackageSets(sets, replaced []PackageSet, gone *removals) error {
	for _, set := range sets {
		if err := os.Remove(s.path("packages", set.Key)); err != nil {
			return fmt.Errorf("remove set of packages: %w", err)
		}
	}

	var layers []Layer
	for _, set := range slices.Concat(sets, replaced) {
		layer, err := s.Layer(set.Layer)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		layers = append(layers, layer)
	}

	_, err := s.discardLayers(layers, gone)
	return err
}

// inUse reports whether a cell has locked the layer of a set.
func (s *Store) inUse(set PackageSet) bool {
	dir, err := os.Open(s.path("layers", strings.TrimPrefix(set.Layer, "sha256:")))
	if err != nil {
		return false
	}
	defer dir.Close()
	return errors.Is(flock.Try(dir), flock.ErrHeld) // held for a moment: see ImageLock.add
}

// cleanPackages removes sets whose layer is gone. The caller holds the store's lock.
func (s *Store) cleanPackages() error {
	sets, err := s.briefPackageSets()
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
