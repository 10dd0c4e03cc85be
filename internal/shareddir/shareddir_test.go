package shareddir

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("without root there is no other user to share with")
	}
}

func mode(t *testing.T, path string) fs.FileMode {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode().Perm()
}

// Modes do not depend on the umask, and an existing directory keeps the mode that somebody chose.
func TestMake(t *testing.T) {
	needRoot(t)
	defer syscall.Umask(syscall.Umask(0o077))

	chosen := filepath.Join(t.TempDir(), "chosen")
	if err := os.Mkdir(chosen, 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(chosen, 0o750); err != nil {
		t.Fatal(err)
	}

	for range 2 { // the second time all is there
		if err := Make(filepath.Join(chosen, "a", "b")); err != nil {
			t.Fatal(err)
		}
		if err := MakePrivate(filepath.Join(chosen, "c", "d")); err != nil {
			t.Fatal(err)
		}
	}

	for name, want := range map[string]fs.FileMode{"": 0o750, "a": 0o755, "a/b": 0o755, "c": 0o755, "c/d": 0o700} {
		if got := mode(t, filepath.Join(chosen, name)); got != want {
			t.Errorf("%q has mode %o; want %o", name, got, want)
		}
	}

	file := filepath.Join(chosen, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}

	for _, dir := range []string{file, filepath.Join(file, "below")} {
		if err := Make(dir); err == nil {
			t.Errorf("%s was made", dir)
		}
	}
}

// Root's cache that an earlier brig made for root alone is opened, whatever is made in it. In a mount
// namespace of its own, so that the host's stays as it is.
func TestTheCacheIsOpened(t *testing.T) {
	needRoot(t)

	for name, do := range map[string]func() error{
		"itself":              func() error { return Make(Cache) },
		"a private one in it": func() error { return MakePrivate(filepath.Join(Cache, "locks")) },
	} {
		failed := make(chan error, 1)
		go func() {
			runtime.LockOSThread() // for good: the thread ends with this goroutine, and the namespace with it
			failed <- func() error {
				if err := unix.Unshare(unix.CLONE_NEWNS | unix.CLONE_FS); err != nil {
					return err
				}
				if err := unix.Mount("none", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
					return err
				}
				if err := unix.Mount("tmpfs", filepath.Dir(Cache), "tmpfs", 0, ""); err != nil {
					return err
				}
				if err := os.Mkdir(Cache, 0o700); err != nil {
					return err
				}
				if err := do(); err != nil {
					return err
				}
				if got := mode(t, Cache); got != 0o755 {
					t.Errorf("%s: the cache has mode %o; want 755", name, got)
				}
				return nil
			}()
		}()

		if err := <-failed; err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The error names the directory in the way, also behind a link, as systemd's for services without a
// fixed user is.
func TestCheckPassable(t *testing.T) {
	root, err := os.MkdirTemp("/var/tmp", "brig-passable-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(root)

	closed, open := filepath.Join(root, "closed"), filepath.Join(root, "open")
	for dir, mode := range map[string]fs.FileMode{root: 0o711, closed: 0o750, open: 0o755} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
	}

	in := filepath.Join(closed, "in")
	if err := os.Mkdir(in, 0o755); err != nil {
		t.Fatal(err)
	}

	link := filepath.Join(open, "link")
	if err := os.Symlink(in, link); err != nil {
		t.Fatal(err)
	}

	for dir, want := range map[string]string{open: "", root: "", closed: closed, in: closed, link: closed, root + "/none": "no such file"} {
		err := CheckPassable(dir, "the cache", 7)
		switch {
		case want == "" && err != nil, want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v; want %q", dir, err, want)
		case want == closed:
			if full := "the cache is in " + dir + ", which uid 7 has to reach: other users cannot pass " +
				"through " + closed + ": chmod o+x " + closed +
				", or name another directory"; err.Error() != full {
				t.Errorf("%s: %v; want %s", dir, err, full)
			}
		}
	}
}
