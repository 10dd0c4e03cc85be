package rootfs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// ErrOutdated is wrapped by the error of a stored image that does not have what a language needs.
var ErrOutdated = errors.New("image is older than the language")

// Lacks lists what of l.Needs a stored image does not have: it was built by an older recipe, or
// is another's. Links are followed inside the tree. It is cheap enough to ask before each run:
// four system calls for one name, and none where the manifest names nothing.
func (l Language) Lacks(img Image) (missing []string, err error) {
	if len(l.Needs) == 0 {
		return nil, nil
	}
	tree, err := unix.Open(img.Path, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) {
		return nil, nil // removed just now: whoever holds it next is told
	}
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: img.Path, Err: err}
	}
	defer unix.Close(tree)
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS}
	for _, name := range l.Needs {
		n, err := unix.Openat2(tree, name, &how)
		switch {
		case err == nil:
			unix.Close(n)
		case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ELOOP):
			missing = append(missing, name)
		default:
			return nil, &os.PathError{Op: "openat2", Path: img.Path + name, Err: err}
		}
	}
	return missing, nil
}

// Outdated maps the names of stored images to what they lack of what languages need. Images that
// are not stored are none of them.
func (s *Store) Outdated(languages []Language) (map[string][]string, error) {
	lack := map[string][]string{}
	for _, l := range languages {
		if len(l.Needs) == 0 {
			continue
		}
		img, err := s.look(l.Image)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		missing, err := l.Lacks(img)
		if err != nil {
			return nil, err
		}
		for _, name := range missing {
			if !slices.Contains(lack[l.Image], name) {
				lack[l.Image] = append(lack[l.Image], name)
			}
		}
	}
	return lack, nil
}

// Fits refuses an image that lacks what the language needs, before a compiler that is not as the
// manifest expects it blames the program. The error wraps ErrOutdated.
func (l Language) Fits(img Image) error {
	missing, err := l.Lacks(img)
	if err != nil || len(missing) == 0 {
		return err
	}
	return fmt.Errorf("%w: image %s has no %s, which %s needs; %s", ErrOutdated, l.Image, strings.Join(missing, ", "), l.Name, Rebuild(l.Image))
}

// Rebuild says how the operator gets an image that has what its languages need.
func Rebuild(image string) string {
	if _, ok := Recipes()[image]; ok {
		return "build it again with: brig rootfs build " + image
	}
	return "import one that has it with: brig rootfs import FILE --name " + image
}

// checkNeeds holds the names in needs to what can be looked for in a tree.
func (l Language) checkNeeds() error {
	for _, name := range l.Needs {
		if !path.IsAbs(name) || path.Clean(name) != name || name == "/" || len(name) > maxPath || strings.IndexByte(name, 0) >= 0 {
			return wrongWord("needs", name, "needs: %q: write the path of a file or directory of the image, such as /usr/lib/x", name)
		}
	}
	return nil
}
