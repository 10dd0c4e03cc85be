package bundle

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/brig-sandbox/brig/runtime/plan"
)

// FindProgram searches the image's tree for the program that c runs, in the same way as the
// runtime: in PATH if its name has no slash. The error is fs.ErrNotExist if there is no such
// program, and fs.ErrPermission if it is not executable. FindProgram does not follow links that
// lead out of the tree: these are absolute and refer to the image's own root, so they count as
// found.
func FindProgram(tree string, c Config) error {
	root, err := os.OpenRoot(tree)
	if err != nil {
		return err
	}
	defer root.Close()

	name := c.Args[0]
	places := []string{path.Join("/box", name)} // a name with a slash is relative to /box
	switch {
	case path.IsAbs(name):
		places = []string{name}
	case !strings.Contains(name, "/"):
		places = nil
		search, ok := c.Env["PATH"]
		if !ok {
			search = plan.SearchPath
		}
		for _, dir := range strings.Split(search, ":") {
			places = append(places, path.Join("/", dir, name))
		}
	}

	for _, at := range places {
		info, err := root.Lstat(strings.TrimPrefix(path.Clean(at), "/"))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err == nil && info.Mode().IsRegular() && info.Mode()&0o111 == 0:
			return fmt.Errorf("%s: %w", at, fs.ErrPermission)
		case err == nil && info.IsDir():
			continue
		}
		return nil
	}

	return fmt.Errorf("%s: %w", name, fs.ErrNotExist)
}
