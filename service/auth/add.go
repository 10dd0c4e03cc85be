package auth

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"

	"github.com/brig-sandbox/brig/internal/flock"
	"github.com/brig-sandbox/brig/internal/shareddir"
)

// AddKey creates a key and appends its line to the keys file at path. If there is no file, AddKey
// creates it with its parent directories: writable by its owner and readable by the group gid; a
// gid below zero means the caller's own group. made reports whether it created the file. The token
// is passed to tell and stored nowhere; if tell returns an error, AddKey returns it and leaves the
// file unchanged. AddKey also leaves a file unchanged that would not be a valid keys file with the
// new line, or that has a key of that name.
func AddKey(path string, gid int, k Key, tell func(token string) error) (made bool, err error) {
	token, line, err := NewKey(k)
	if err != nil {
		return false, err
	}

	passOn := sync.OnceValue(func() error { return tell(token) })
	for {
		err = appendKey(path, k.Name, line, passOn)
		if !errors.Is(err, fs.ErrNotExist) {
			return false, err
		}
		err = createKeyFile(path, gid, "keys:\n"+line+"\n", passOn)
		if !errors.Is(err, fs.ErrExist) { // otherwise another process has created it first
			return err == nil, err
		}
	}
}

// createKeyFile creates the file atomically: a service that starts meanwhile sees nothing or the whole
// file. It never replaces an existing file.
func createKeyFile(path string, gid int, text string, passOn func() error) (err error) {
	dir := filepath.Dir(path)
	if err := shareddir.Make(dir); err != nil {
		return fmt.Errorf("create the directory of the keys file: %w", err)
	}

	f, err := os.CreateTemp(dir, ".keys-*") // with mode 0600
	if err != nil {
		return fmt.Errorf("make the keys file: %w", err)
	}
	defer func() { err = errors.Join(err, os.Remove(f.Name())) }()

	_, err = f.WriteString(text)
	if err == nil && gid >= 0 {
		if err = f.Chown(-1, gid); err == nil { // before the group gets read permission
			err = f.Chmod(0o640)
		}
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("make the keys file: %w", err)
	}
	if err := passOn(); err != nil {
		return err
	}
	return os.Link(f.Name(), path)
}

// appendKey appends the line in one write: a service that has the file open, and may not be able to
// open another in its place, sees the line at its next poll.
func appendKey(path, name, line string, passOn func() error) (err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, syscall.ELOOP) {
		return fmt.Errorf("keys file %s is a symbolic link: give the path of the file itself", path)
	}
	if err != nil {
		return fmt.Errorf("add to the keys file: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()

	if err := flock.Lock(f); err != nil { // serializes processes that add keys
		return err
	}

	existing, err := readKeyFile(path, f)
	old, unread := io.ReadAll(io.NewSectionReader(f, 0, 4<<20))
	if unread != nil {
		return fmt.Errorf("read keys: %w", unread)
	}

	added := line + "\n"
	switch {
	case errors.Is(err, errNoKeysField) && len(old) == 0:
		added = "keys:\n" + added
	case err != nil && !errors.Is(err, errNoKeys):
		return err
	case !bytes.HasSuffix(old, []byte("\n")):
		added = "\n" + added
	}

	if slices.ContainsFunc(existing, func(k Key) bool { return k.Name == name }) {
		return fmt.Errorf("keys file %s already has a key %q: choose another name, or remove its line first", path, name)
	}

	now, err := ParseKeys(append(bytes.Clone(old), added...))
	if err != nil || len(now.List()) != len(existing)+1 {
		return fmt.Errorf("keys file %s does not end with its list of keys, so nothing was added: create a line with "+
			"brig key new %s, and insert it into that list", path, name)
	}
	if err := passOn(); err != nil {
		return err
	}
	if n, err := f.WriteString(added); err != nil {
		if n > 0 { // half a line would make the file unreadable for the service
			err = errors.Join(err, f.Truncate(int64(len(old))))
		}
		return fmt.Errorf("add to the keys file: %w", err)
	}

	return f.Sync()
}
