package rootfs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// The user every program runs as, in every image.
const (
	userName = "sandboxuser"
	userID   = "1000"
)

// finish gives the tree what a cell relies on: /proc, /dev, /tmp, /box and /workspace
// as directories of the root itself, /sandbox leading to /box, and the user. An
// image that has anything else there, such as a link that leads out, loses it
// (IMG-08, FS-23).
func (t *tree) finish() error {
	for _, name := range []string{"proc", "dev", "tmp", "box", "workspace"} {
		if err := t.ownDir(name); err != nil {
			return fmt.Errorf("make /%s: %w", name, err)
		}
	}
	if err := t.remove(t.root, "sandbox"); err != nil {
		return fmt.Errorf("make /sandbox: %w", err)
	}
	if err := unix.Symlinkat("/box", int(t.root.Fd()), "sandbox"); err != nil {
		return fmt.Errorf("make /sandbox: %w", err)
	}
	if err := setTime(t.root, "sandbox", 0); err != nil {
		return err
	}
	if err := t.rewrite("etc/passwd", addUser); err != nil {
		return err
	}
	if err := t.rewrite("etc/group", addGroup); err != nil {
		return err
	}
	if err := unix.Fchmod(int(t.root.Fd()), 0o755); err != nil {
		return &os.PathError{Op: "chmod", Path: "/", Err: err}
	}
	return setTime(t.root, ".", 0)
}

// ownDir makes sure that name is a directory of the root, and not a link to one.
func (t *tree) ownDir(name string) error {
	st, err := lstat(t.root, name)
	switch {
	case err == nil && isDir(st):
		return chmod(t.root, name, 0o755)
	case err != nil && !errors.Is(err, unix.ENOENT):
		return err
	}
	if err := t.remove(t.root, name); err != nil {
		return err
	}
	if err := mkdir(t.root, name); err != nil {
		return err
	}
	return setTime(t.root, name, 0)
}

// maxAccounts bounds the account files brig reads from an image.
const maxAccounts = 1 << 20

// AccountBytes bounds what /etc/passwd and /etc/group of a stored image take. They are brig's
// own and beside an image's Size: where they were links they are now files.
const AccountBytes = 2 * maxAccounts

// rewrite replaces a file by an edited copy. The old one is read wherever its
// name leads inside the tree; the new one is a file of its own.
func (t *tree) rewrite(name string, edit func([]byte) []byte) error {
	old, err := t.readFile(name)
	if err != nil {
		return fmt.Errorf("read /%s: %w", name, err)
	}
	at, base, err := t.parent(name)
	if err != nil {
		return fmt.Errorf("write /%s: the image has no usable /etc: %w", name, err)
	}
	text := edit(old)
	if err := t.remove(at, base); err != nil {
		return err
	}
	if err := create(at, base, 0o644, int64(len(text)), bytes.NewReader(text)); err != nil {
		return fmt.Errorf("write /%s: %w", name, err)
	}
	if err := setTime(at, base, 0); err != nil {
		return err
	}
	return setTime(at, ".", 0)
}

// readFile reads a small regular file of the tree; one that does not exist is
// empty.
func (t *tree) readFile(name string) ([]byte, error) {
	f, err := t.open(name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(f, maxAccounts+1))
	if err == nil && len(text) > maxAccounts {
		return nil, fmt.Errorf("%w: it has more than %d bytes", ErrTooLarge, maxAccounts)
	}
	return text, err
}

// addUser makes an account file in which uid 1000 has one name, ours, and our
// name one uid.
func addUser(passwd []byte) []byte {
	return replaceAccount(passwd, 7, "root:x:0:0:root:/root:/bin/sh",
		userName+":x:"+userID+":"+userID+":brig:/box:/bin/sh")
}

// addGroup does the same for the group file.
func addGroup(group []byte) []byte {
	return replaceAccount(group, 4, "root:x:0:", userName+":x:"+userID+":")
}

// replaceAccount keeps the well-formed lines that claim neither our name nor our
// id, and adds ours. A file without accounts starts with root.
func replaceAccount(text []byte, fields int, root, ours string) []byte {
	var out []string
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		f := strings.Split(line, ":")
		if len(f) != fields || f[0] == userName || strings.TrimLeft(f[2], "0") == userID {
			continue
		}
		if fields == 4 {
			f[3] = dropMember(f[3]) // or id would list another group of ours
			line = strings.Join(f, ":")
		}
		out = append(out, line)
	}
	if len(out) == 0 {
		out = append(out, root)
	}
	return []byte(strings.Join(append(out, ours), "\n") + "\n")
}

func dropMember(members string) string {
	var keep []string
	for m := range strings.SplitSeq(members, ",") {
		if m != userName && m != "" {
			keep = append(keep, m)
		}
	}
	return strings.Join(keep, ",")
}
