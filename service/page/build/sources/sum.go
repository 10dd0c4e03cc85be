// Package sources tells from which sources the files of the page were made.
package sources

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"strings"
)

// Sum returns a hash of all files below dir with their names, without what npm installs.
func Sum(dir fs.FS) (string, error) {
	all := sha256.New()
	err := fs.WalkDir(dir, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == "node_modules":
			return fs.SkipDir
		case d.IsDir() || strings.HasSuffix(name, "~"):
			return nil
		}

		content, err := fs.ReadFile(dir, name)
		if err != nil {
			return err
		}
		fmt.Fprintf(all, "%s %x\n", name, sha256.Sum256(content))
		return nil
	})
	return hex.EncodeToString(all.Sum(nil)), err
}
