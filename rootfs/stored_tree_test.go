package rootfs

import (
	"archive/tar"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestStoredTreeBelongsToRootAlone(t *testing.T) {
	// IMG-11, IMG-12, IMG-23: modes, owners and attributes that an archive may contain.
	old := unix.Umask(0)
	defer unix.Umask(old)

	s := newStore(t)
	img, err := importTar(t, s, Options{},
		with(file("suid", "x"), func(h *tar.Header) { h.Mode = 0o6755; h.Uid = 1000; h.Gid = 1000 }),
		with(file("open", "x"), func(h *tar.Header) { h.Mode = 0o777; h.Uid = 100_000 }),
		with(dir("sticky"), func(h *tar.Header) { h.Mode = 0o1777 }),
		with(capable("capable"), func(h *tar.Header) {
			h.PAXRecords["SCHILY.xattr.user.note"], h.PAXRecords["SCHILY.xattr.trusted.overlay.opaque"] = "hello", "y"
		}),
		with(dir("home"), func(h *tar.Header) { h.Mode = 0o700; h.Uid = 1000 }),
		symlink("link", "suid"),
	)
	if err != nil {
		t.Fatal(err)
	}

	seen := 0
	err = filepath.WalkDir(filepath.Dir(img.Path), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}

		var st unix.Stat_t
		if err := unix.Lstat(path, &st); err != nil {
			return err
		}

		seen++
		if st.Uid != 0 || st.Gid != 0 {
			t.Errorf("%s belongs to %d:%d; want root", path, st.Uid, st.Gid)
		}
		if st.Mode&unix.S_IFMT != unix.S_IFLNK && st.Mode&0o7022 != 0 {
			t.Errorf("%s has mode %o; want no setuid, setgid, sticky, no write but root's", path, st.Mode)
		}
		if n, err := unix.Llistxattr(path, nil); err != nil || n != 0 {
			t.Errorf("%s has %d bytes of attribute names, %v; want none", path, n, err)
		}
		return nil
	})
	if err != nil || seen < 10 {
		t.Errorf("walked %d members, %v", seen, err)
	}
	if info, err := os.Stat(filepath.Join(img.Path, "home")); err != nil || info.Mode().Perm() != 0o705 {
		t.Errorf("what uid 1000 could enter: %v, %v; want 0705", info, err)
	}

	for _, d := range []string{"", "images", "names", "work"} {
		if info, err := os.Stat(filepath.Join(s.dir, d)); err != nil || info.Mode().Perm()&0o022 != 0 {
			t.Errorf("store directory %q: %v, %v; want it writable by root alone", d, info, err)
		}
	}
}

func TestEveryImageGetsItsFixedDirectories(t *testing.T) {
	// IMG-08, FS-23: system directories that are files or links to another place.
	for _, tt := range []struct {
		name string
		ms   members
	}{
		{"nothing there", members{file("x", "")}},
		{"links out", members{symlink("dev", "/victim"), symlink("proc", "../../../../victim"), symlink("sys", "/victim"), symlink("tmp", "/etc"),
			symlink("box", ".."), symlink("sandbox", "/victim"), symlink("etc", "/victim")}},
		{"files", members{file("dev", ""), file("proc", ""), file("tmp", ""), file("box", ""), file("sandbox", "")}},
		{"accounts are links",
			members{symlink("etc/passwd", "../../../../victim/secret"), symlink("etc/group", "/usr/lib/group"),
				file("usr/lib/group", "root:x:0:\nstaff:x:50:sandboxuser,other\n")}},
		{"accounts are directories", members{dir("etc/passwd"), file("etc/group/x", "")}},
		{"a full sandbox directory", members{file("sandbox/a/b", "")}},
		{"a rival", members{file("etc/passwd", "root:x:0:0::/:/bin/sh\nuser:x:1000:1000::/:/bin/sh\n"+
			"sandboxuser:x:7:7::/:/bin/sh\nbroken\n"),
			file("etc/group", "root:x:0:\nuser:x:1000:\n")}},
		{"a link to itself", members{symlink("etc/passwd", "passwd")}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			img, err := importTar(t, newStore(t), Options{}, tt.ms...)
			if err != nil {
				t.Fatal(err)
			}

			for _, d := range []string{"proc", "dev", "tmp", "box"} {
				if info, err := os.Lstat(filepath.Join(img.Path, d)); err != nil || info.Mode() != fs.ModeDir|0o755 {
					t.Errorf("/%s: %v, %v; want a directory", d, info, err)
				}
			}

			if to, err := os.Readlink(filepath.Join(img.Path, "sandbox")); err != nil || to != "/box" {
				t.Errorf("/sandbox leads to %q, %v; want /box", to, err)
			}

			for name, want := range map[string]string{"passwd": "sandboxuser:x:1000:1000:brig:/box:/bin/sh", "group": "sandboxuser:x:1000:"} {
				text := readInRoot(t, img, "etc/"+name)
				lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
				if !strings.HasPrefix(text, "root:x:0:") || lines[len(lines)-1] != want ||
					strings.Count(text, "sandboxuser") != 1 || strings.Count(text, ":1000:") != strings.Count(want, ":1000:") {
					t.Errorf("/etc/%s is\n%s\nwant root first, %q last, and no rival", name, text, want)
				}
			}
		})
	}
}

func TestImageWithoutUsableEtcIsRefused(t *testing.T) {
	_, err := importTar(t, newStore(t), Options{}, file("etc", ""))
	if err == nil || !strings.Contains(err.Error(), "/etc") {
		t.Errorf("Import: %v; want it to name /etc", err)
	}
}

// readInRoot reads a file through the same name resolution as in a cell.
func readInRoot(t *testing.T, img Image, name string) string {
	t.Helper()
	root, err := os.Open(img.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()

	fd, err := unix.Openat2(int(root.Fd()), name, &unix.OpenHow{Flags: unix.O_RDONLY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT})
	if err != nil {
		t.Fatal(err)
	}

	f := os.NewFile(uintptr(fd), name)
	defer f.Close()

	text, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
