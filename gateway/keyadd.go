package gateway

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
)

// AddKey makes a key and writes its line to the end of the keys file at path, which is
// made, with the directories above it, if there is none: for its owner to write and the
// group gid to read; a gid below zero is the caller's own. made reports that it was. The
// token goes to tell and is nowhere kept; an error of tell is returned, and the file is as it
// was. A file that would not be one of keys with the line is not
// touched, nor is one that has a key of that name.
func AddKey(path string, gid int, k Key, tell func(token string) error) (made bool, err error) {
	token, line, err := NewKey(k)
	if err != nil {
		return false, err
	}
	told := sync.OnceValue(func() error { return tell(token) })
	for {
		err = appendKey(path, k.Name, line, told)
		if !errors.Is(err, fs.ErrNotExist) {
			return false, err
		}
		err = makeKeys(path, gid, "keys:\n"+line+"\n", told)
		if !errors.Is(err, fs.ErrExist) { // else another was quicker
			return err == nil, err
		}
	}
}

// makeKeys makes the file whole, or not at all: a service that starts meanwhile reads
// nothing or all of it. It replaces none.
func makeKeys(path string, gid int, text string, told func() error) (err error) {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make the keys file's directory: %w", err)
	}
	f, err := os.CreateTemp(dir, ".keys-*") // with mode 0600
	if err != nil {
		return fmt.Errorf("make the keys file: %w", err)
	}
	defer func() { err = errors.Join(err, os.Remove(f.Name())) }()
	_, err = f.WriteString(text)
	if err == nil && gid >= 0 {
		if err = f.Chown(-1, gid); err == nil { // before the group may read it
			err = f.Chmod(0o640)
		}
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("make the keys file: %w", err)
	}
	if err := told(); err != nil {
		return err
	}
	return os.Link(f.Name(), path)
}

// appendKey adds the line in one write: a service that has the file open, and may not be
// able to open another in its place, sees it at its next look.
func appendKey(path, name, line string, told func() error) (err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, syscall.ELOOP) {
		return fmt.Errorf("keys file %s is a symbolic link: name the file itself", path)
	}
	if err != nil {
		return fmt.Errorf("add to the keys file: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil { // others that add keys
		return os.NewSyscallError("flock", err)
	}
	had, err := readKeyFile(path, f)
	old, unread := io.ReadAll(io.NewSectionReader(f, 0, 4<<20))
	if unread != nil {
		return fmt.Errorf("read keys: %w", unread)
	}
	added := line + "\n"
	switch {
	case errors.Is(err, errNoLine) && len(old) == 0:
		added = "keys:\n" + added
	case err != nil && !errors.Is(err, errNoKeys):
		return err
	case !bytes.HasSuffix(old, []byte("\n")):
		added = "\n" + added
	}
	if slices.ContainsFunc(had, func(k Key) bool { return k.Name == name }) {
		return fmt.Errorf("keys file %s has a key %q already: choose another name, or take its line out first", path, name)
	}
	now, err := ParseKeys(append(bytes.Clone(old), added...))
	if err != nil || len(now.list()) != len(had)+1 {
		return fmt.Errorf("keys file %s does not end with its list of keys, so nothing was added: make a line with brig key new %s, and put it where it belongs", path, name)
	}
	if err := told(); err != nil {
		return err
	}
	if n, err := f.WriteString(added); err != nil {
		if n > 0 { // half a line would lose the service all keys
			err = errors.Join(err, f.Truncate(int64(len(old))))
		}
		return fmt.Errorf("add to the keys file: %w", err)
	}
	return f.Sync()
}
