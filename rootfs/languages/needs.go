package languages

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/rootfs"
	"github.com/brig-sandbox/brig/rootfs/recipes"
)

// ErrOutdated is wrapped by the error for a stored image that lacks a path that a language needs.
var ErrOutdated = errors.New("image lacks files that the language needs")

// MissingPaths lists the paths in l.Needs that a stored image does not have, because it was built by an
// older recipe or is a different image. It follows links inside the tree. It is cheap enough to be
// called before each run: a few system calls for a path, and none if the manifest has no paths.
func (l Manifest) MissingPaths(ctx context.Context, img rootfs.Image) (missing []string, err error) {
	if len(l.Needs) == 0 {
		return nil, nil
	}

	for _, name := range l.Needs {
		has, err := img.Has(ctx, name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil // removed just now: the next attempt to lock the image returns the error
		}
		if err != nil {
			return nil, err
		}
		if !has {
			missing = append(missing, name)
		}
	}

	return missing, nil
}

// Outdated maps the names of stored images to the paths that they lack and languages need. It does
// not include images that are not stored.
func Outdated(ctx context.Context, s *rootfs.Store, languages []Manifest) (map[string][]string, error) {
	missingByImage := map[string][]string{}
	for _, l := range languages {
		if len(l.Needs) == 0 || !s.Has(l.Image) {
			continue
		}

		img, err := s.Lookup(l.Image)
		if errors.Is(err, rootfs.ErrNotFound) {
			continue // removed just now
		}
		if err != nil {
			return nil, err
		}

		missing, err := l.MissingPaths(ctx, img)
		if err != nil {
			return nil, err
		}

		for _, name := range missing {
			if !slices.Contains(missingByImage[l.Image], name) {
				missingByImage[l.Image] = append(missingByImage[l.Image], name)
			}
		}
	}

	return missingByImage, nil
}

// CheckImage refuses an image that lacks a path that the language needs. Without this check, a compiler
// other than the one the manifest expects would report errors in the program. The error wraps
// ErrOutdated.
func (l Manifest) CheckImage(ctx context.Context, img rootfs.Image) error {
	missing, err := l.MissingPaths(ctx, img)
	if err != nil || len(missing) == 0 {
		return err
	}
	return fmt.Errorf("%w: image %s has no %s, which %s needs; %s", ErrOutdated, l.Image, strings.Join(missing, ", "),
		l.Name, RebuildHint(l.Image))
}

// ImageHint returns the command that stores an image that is not stored: it builds it, if brig has a
// recipe, pulls it from the place that a manifest names, or imports it.
func ImageHint(image, from string) string {
	switch {
	case recipes.Has(image):
		return "build it with sudo brig rootfs build " + image
	case from != "":
		return "pull it with sudo brig rootfs pull " + from + " --name " + image + ", or " + ImportHint(image)
	}
	return ImportHint(image)
}

// ImportHint returns the command that stores an image from a file, as a host without a registry does.
func ImportHint(image string) string {
	return "import it with sudo brig rootfs import FILE --name " + image
}

// RebuildHint returns the hint that tells the operator how to get an image that has all that its
// languages need.
func RebuildHint(image string) string {
	if recipes.Has(image) {
		return "build it again with: brig rootfs build " + image
	}
	return "import one that has it with: brig rootfs import FILE --name " + image
}

// checkNeeds accepts only absolute, clean paths in needs, which can be looked up in a tree.
func (l Manifest) checkNeeds() error {
	for _, name := range l.Needs {
		if !path.IsAbs(name) || path.Clean(name) != name || name == "/" || len(name) > unix.PathMax ||
			strings.IndexByte(name, 0) >= 0 {
			return valueErrorf("needs", name,
				"needs: %q: write the path of a file or directory of the image, such as /usr/lib/x", name)
		}
	}
	return nil
}
