package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// The user that every program runs as, in every image.
const (
	userName = "sandboxuser"
	userID   = "1000"
)

// Finalize adds what a cell relies on to the tree at root: /proc, /dev, /tmp, /box and /workspace as real
// directories in the root, the link /sandbox to /box, and the user. It replaces anything else that
// the image has at these paths, such as a link that leads out (IMG-08, FS-23). sums are those of
// Unpack; the files that Finalize writes are added.
func Finalize(root *os.File, sums Sums) error {
	t := &tree{root: root, sums: sums}
	defer t.forget()
	return t.finalize(t.readFile)
}

// FinalizeAbove writes the same into an empty tree that is to lie above the layers of an image. read
// returns a file as the layers have it, at most AccountBytes/2 of it, and nil if they have none.
func FinalizeAbove(root *os.File, read func(name string) ([]byte, error)) error {
	t := &tree{root: root}
	defer t.forget()
	if err := mkdir(root, "etc"); err != nil {
		return err
	}
	return t.finalize(read)
}

// A TopDir is a directory of a tree that FinalizeAbove made.
type TopDir struct {
	Name string // without links
	Mode uint32
	Time int64 // of its last modification, in nanoseconds
}

// MakeTopDirs adds directories to a tree that FinalizeAbove made. Each directory follows the one above
// it. In an overlay the topmost tree decides mode and time of a directory.
func MakeTopDirs(ctx context.Context, root *os.File, dirs []TopDir) error {
	t := &tree{root: root}
	defer t.forget()

	for _, d := range dirs {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		at, base, err := t.parent(d.Name)
		if err == nil {
			err = mkdir(at, base)
		}
		if err != nil {
			return fmt.Errorf("make /%s: %w", d.Name, err)
		}
	}

	for _, d := range slices.Backward(dirs) { // the one above, whose time has changed, comes after it
		at, base, err := t.parent(d.Name)
		if err == nil {
			err = errors.Join(chmod(at, base, uint16(d.Mode)), setTime(at, base, d.Time), setTime(at, ".", 0))
		}
		if err != nil {
			return fmt.Errorf("make /%s: %w", d.Name, err)
		}
	}

	return nil
}

func (t *tree) finalize(read func(name string) ([]byte, error)) error {
	for _, name := range []string{"proc", "dev", "tmp", "box", "workspace"} {
		if err := t.ensureDir(name); err != nil {
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
	if err := t.rewrite("etc/passwd", read, addUser); err != nil {
		return err
	}
	if err := t.rewrite("etc/group", read, addGroup); err != nil {
		return err
	}
	if err := unix.Fchmod(int(t.root.Fd()), 0o755); err != nil {
		return &os.PathError{Op: "chmod", Path: "/", Err: err}
	}
	return setTime(t.root, ".", 0)
}

// ensureDir ensures that name is a directory in the root and not a link to one.
func (t *tree) ensureDir(name string) error {
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

// maxAccounts limits the size of an account file that brig reads from an image, in bytes.
const maxAccounts = 1 << 20

// AccountBytes limits the total size of /etc/passwd and /etc/group of a tree. Contents.Bytes does
// not include these files, which Finalize writes: where they were links they are now files.
const AccountBytes = 2 * maxAccounts

// rewrite replaces a file by an edited copy. It reads the old file through links inside the tree;
// the new one is always a regular file at name.
func (t *tree) rewrite(name string, read func(string) ([]byte, error), edit func([]byte) []byte) error {
	old, err := read(name)
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
	if err := t.create(at, base, 0o644, int64(len(text)), bytes.NewReader(text)); err != nil {
		return fmt.Errorf("write /%s: %w", name, err)
	}
	if err := setTime(at, base, 0); err != nil {
		return err
	}
	return setTime(at, ".", 0)
}

// readFile reads a small regular file of the tree. For a file that does not exist it returns nil.
func (t *tree) readFile(name string) ([]byte, error) {
	f, err := t.open(name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return ReadAccounts(f)
}

// ReadAccounts reads an account file. For one that is no regular file it returns nil.
func ReadAccounts(f *os.File) ([]byte, error) {
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

// addUser returns an account file in which uid 1000 has only brig's name, and brig's name has only
// that uid.
func addUser(passwd []byte) []byte {
	return replaceAccount(passwd, 7, "root:x:0:0:root:/root:/bin/sh",
		userName+":x:"+userID+":"+userID+":brig:/box:/bin/sh")
}

// addGroup does the same for the group file.
func addGroup(group []byte) []byte {
	return replaceAccount(group, 4, "root:x:0:", userName+":x:"+userID+":")
}

// replaceAccount keeps the well-formed lines that have neither brig's name nor brig's id, and adds
// brig's line. A file without accounts gets root's line first.
func replaceAccount(text []byte, fields int, root, brigLine string) []byte {
	var out []string
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		f := strings.Split(line, ":")
		if len(f) != fields || f[0] == userName || strings.TrimLeft(f[2], "0") == userID {
			continue
		}
		if fields == 4 {
			f[3] = removeMember(f[3]) // otherwise id would list another group of brig's user
			line = strings.Join(f, ":")
		}
		out = append(out, line)
	}

	if len(out) == 0 {
		out = append(out, root)
	}
	return []byte(strings.Join(append(out, brigLine), "\n") + "\n")
}

func removeMember(members string) string {
	var kept []string
	for m := range strings.SplitSeq(members, ",") {
		if m != userName && m != "" {
			kept = append(kept, m)
		}
	}
	return strings.Join(kept, ",")
}
