package bundle

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
)

// FindProgram looks in the image's tree for the program that c runs, as the runtime
// will: in PATH if its name has no slash. An error is fs.ErrNotExist where there is
// none, and fs.ErrPermission where it may not be executed. Links out of the tree, which
// are absolute and mean the image's own root, are not followed: they count as found.
func FindProgram(tree string, c Config) error {
	root, err := os.OpenRoot(tree)
	if err != nil {
		return err
	}
	defer root.Close()
	name := c.Args[0]
	places := []string{path.Join("/box", name)} // a name with a slash begins in the working directory
	switch {
	case path.IsAbs(name):
		places = []string{name}
	case !strings.Contains(name, "/"):
		places = nil
		for _, dir := range strings.Split(searchPath(c.Env), ":") {
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
