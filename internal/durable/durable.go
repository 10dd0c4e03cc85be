// Package durable writes files that survive a loss of power, whole or not at all.
package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Replace gives a name to a file with this content and mode, in place of an earlier one. The file is complete and
// on disk before it has the name, and the name is on disk when Replace returns. It follows no link. A process that
// is killed meanwhile can leave a file that begins with a dot and the name.
func Replace(name string, content []byte, mode fs.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	return Commit(f, name, errors.Join(err, f.Chmod(mode)))
}

// Commit brings a new file to disk and renames it to name, in its own directory. The name is on disk when Commit
// returns. If writing the file has failed with err, or anything fails here, the file is removed.
func Commit(f *os.File, name string, err error) error {
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return SyncDir(filepath.Dir(name))
}

// SyncDir waits until the names in a directory are on disk.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
