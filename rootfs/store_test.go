package rootfs

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestLookupErrorListsImages(t *testing.T) {
	s := newStore(t)
	_, err := s.Lookup("python")
	if !errors.Is(err, ErrNotFound) || !strings.Contains(err.Error(), "no image is stored") || !strings.Contains(err.Error(), "brig rootfs build python") {
		t.Errorf("Lookup in an empty store: %v", err)
	}
	if _, err := importTar(t, s, Options{Name: "mine"}, file("a", "")); err != nil {
		t.Fatal(err)
	}
	_, err = s.Lookup("yours")
	if !errors.Is(err, ErrNotFound) || !strings.Contains(err.Error(), "stored: mine") || !strings.Contains(err.Error(), "brig rootfs import") {
		t.Errorf("Lookup(yours): %v", err)
	}
	if s.Has("yours") || !s.Has("mine") {
		t.Errorf("has yours %v, mine %v", s.Has("yours"), s.Has("mine"))
	}
	for _, bad := range []string{"", "../x", "/etc", "A", "sha256:12", "sha256:" + strings.Repeat("Z", 64), "a b", "-a", strings.Repeat("a", 129)} {
		if _, err := s.Lookup(bad); err == nil || errors.Is(err, ErrNotFound) {
			t.Errorf("Lookup(%q): %v; want the name refused", bad, err)
		}
		if _, err := importTar(t, s, Options{Name: bad}, file("a", "")); err == nil && bad != "" {
			t.Errorf("Import as %q is accepted", bad)
		}
	}
}

func TestNamesMoveAndRemovingTheLastRemovesTheImage(t *testing.T) {
	s := newStore(t)
	first, err := importTar(t, s, Options{Name: "a"}, file("x", "1"))
	if err != nil {
		t.Fatal(err)
	}
	again, err := importTar(t, s, Options{Name: "b"}, file("x", "1"))
	if err != nil || again.Digest != first.Digest || !slices.Equal(again.Names, []string{"a", "b"}) {
		t.Fatalf("the same archive again: %+v, %v; want one image of two names", again, err)
	}
	second, err := importTar(t, s, Options{Name: "a"}, file("x", "2"))
	if err != nil || second.Digest == first.Digest {
		t.Fatal(second, err)
	}
	if img, err := s.Lookup("a"); err != nil || img.Digest != second.Digest {
		t.Errorf("Lookup(a) = %+v, %v; want the newer", img, err)
	}
	if err := s.Remove("b"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Lookup(first.Digest); !errors.Is(err, ErrNotFound) {
		t.Errorf("an image without names is still there: %v", err)
	}
	if _, err := os.Stat(first.Path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("its tree is still there: %v", err)
	}
	if err := s.Remove(second.Digest); err != nil {
		t.Fatal(err)
	}
	mustBeEmpty(t, s)
	if err := s.Remove("a"); !errors.Is(err, ErrNotFound) {
		t.Errorf("Remove(a) twice: %v", err)
	}
}

// A list of images may be out of date when it is used: an unnamed image may have got a name.
func TestRemoveUnnamedKeepsNamedImages(t *testing.T) {
	s := newStore(t)
	img, err := importTar(t, s, Options{}, file("x", "1"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := importTar(t, s, Options{Name: "a"}, file("x", "1")); err != nil {
		t.Fatal(err)
	}
	if removed, err := s.RemoveUnnamed(img.Digest); removed || err != nil || !s.Has("a") {
		t.Errorf("removed %v, %v", removed, err)
	}
	other, err := importTar(t, s, Options{}, file("x", "2"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []bool{true, false} {
		if removed, err := s.RemoveUnnamed(other.Digest); removed != want || err != nil || s.Has(other.Digest) {
			t.Errorf("removed %v, %v; want %v", removed, err, want)
		}
	}
}

func TestImportReplacesADamagedRecord(t *testing.T) {
	s := newStore(t)
	img, err := importTar(t, s, Options{Name: "x"}, file("x", "1"))
	if err != nil {
		t.Fatal(err)
	}
	record := filepath.Join(filepath.Dir(img.Path), "image.json")
	for _, damage := range []func() error{
		func() error { return os.Remove(record) },
		func() error { return os.WriteFile(record, []byte("{"), 0o644) },
		func() error { return os.WriteFile(record, []byte("{\"digest\":\"sha256:00\"}"), 0o644) },
	} {
		if err := damage(); err != nil {
			t.Fatal(err)
		}
		if again, err := importTar(t, s, Options{Name: "x"}, file("x", "1")); err != nil || again.Digest != img.Digest {
			t.Errorf("Import over a damaged record = %+v, %v", again, err)
		}
	}
}

// An import keeps an undamaged stored image and replaces a damaged one, even while programs use it:
// these keep the old tree.
func TestImportReplacesADamagedTree(t *testing.T) {
	s := newStore(t)
	again := func() Image {
		t.Helper()
		img, err := importTar(t, s, Options{Name: "x"}, file("usr/x", "1"), file("usr/y", "2"))
		if err != nil {
			t.Fatal(err)
		}
		if v, err := s.Verify(t.Context(), "x"); err != nil || !v.OK() {
			t.Fatalf("after the import: %+v, %v", v, err)
		}
		return img
	}
	first := again()
	if img := again(); img.Replaced || first.Replaced || !img.Imported.Equal(first.Imported) {
		t.Errorf("a sound image is replaced: %+v", img)
	}
	x, record := filepath.Join(first.Path, "usr/x"), filepath.Join(filepath.Dir(first.Path), recordName)
	for _, damage := range []func() error{
		func() error { return os.WriteFile(x, []byte("another"), 0o644) },
		func() error { return os.Remove(x) },
		func() error { return os.WriteFile(filepath.Join(first.Path, "usr/z"), nil, 0o644) },
		func() error { return os.Remove(record) },
	} {
		held, err := s.LockImage(first)
		if err != nil {
			t.Fatal(err)
		}
		if err := damage(); err != nil {
			t.Fatal(err)
		}
		if img := again(); !img.Replaced {
			t.Error("Replaced is false for an image that was damaged")
		}
		if text, err := os.ReadFile(x); err != nil || string(text) != "1" {
			t.Errorf("%q, %v", text, err)
		}
		if removed, err := held.Close(); !removed || err != nil {
			t.Errorf("close of the damaged image: removed %v, %v", removed, err)
		}
		if err := s.Clean(); err != nil {
			t.Error(err)
		}
	}
}

// While a damaged image is replaced, there is an image at its path at every moment: a process
// killed meanwhile loses neither the image nor its names, and a new run finds it.
func TestADamagedImageIsReplacedAtomically(t *testing.T) {
	s := newStore(t)
	img, err := importTar(t, s, Options{Name: "x"}, file("usr/x", "1"))
	if err != nil {
		t.Fatal(err)
	}
	home := filepath.Dir(img.Path)
	done, missed := make(chan struct{}), make(chan int)
	go func() {
		n := 0
		for {
			select {
			case <-done:
				missed <- n
				return
			default:
				if _, err := os.Lstat(home); err != nil {
					n++
				}
			}
		}
	}()
	for range 300 {
		w, err := s.newStagingDir()
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range []string{"root", "image.json", recordName} {
			if err := os.Mkdir(filepath.Join(w.Path, part), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(s.install(w, filepath.Base(home)), w.Close()); err != nil {
			t.Fatal(err)
		}
	}
	close(done)
	if n := <-missed; n > 0 {
		t.Errorf("there was none %d times", n)
	}
}

func TestLookupSeesAnotherProcessesChangesAtOnce(t *testing.T) {
	s := newStore(t)
	other, err := Open(s.dir)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		want, err := importTar(t, other, Options{Name: "x"}, file("x", fmt.Sprint(i)))
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			got, err := s.Lookup("x")
			if err != nil || got.Digest != want.Digest {
				t.Fatalf("Lookup = %+v, %v; want %s", got, err, want.Digest)
			}
			if i%10 == 9 {
				time.Sleep(120 * time.Millisecond) // from here on Lookup uses its cache
			}
		}
	}
	if err := other.Remove("x"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Lookup("x"); !errors.Is(err, ErrNotFound) {
		t.Errorf("Lookup after Remove: %v", err)
	}
}

func BenchmarkLookup(b *testing.B) {
	s := newStore(b)
	if _, err := importTar(b, s, Options{Name: "x"}, file("x", "")); err != nil {
		b.Fatal(err)
	}
	time.Sleep(150 * time.Millisecond)
	for b.Loop() {
		if _, err := s.Lookup("x"); err != nil {
			b.Fatal(err)
		}
	}
}

func TestImportsOfOneArchiveAtOnceAgree(t *testing.T) {
	s := newStore(t)
	archive := tarOf(t, file("x", strings.Repeat("x", 1<<16)))
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			own, err := Open(s.dir) // like another process: it cleans while others import
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := own.Import(t.Context(), bytes.NewReader(archive), Options{Name: fmt.Sprint("n", i)}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	list, err := s.List()
	if err != nil || len(list) != 1 || len(list[0].Names) != 4 {
		t.Errorf("List() = %+v, %v; want one image of four names", list, err)
	}
}

// importMain imports standard input, in a process that a test can kill.
func importMain(dir string) int {
	s, err := Open(dir)
	if err == nil {
		_, err = s.Import(context.Background(), os.Stdin, Options{Name: "half"})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func TestKilledImportLeavesNothingAfterTheNextStart(t *testing.T) {
	// IMG-20: the importer dies when files are already on disk.
	s := newStore(t)
	cmd := exec.Command("/proc/self/exe", "import", s.dir)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var ms members
	for i := range 500 {
		ms = append(ms, file(fmt.Sprintf("d/f%d", i), strings.Repeat("x", 4096)))
	}
	archive := tarOf(t, ms...)
	if _, err := in.Write(archive[:len(archive)-100_000]); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "files of the import", func() bool {
		found, _ := filepath.Glob(filepath.Join(s.dir, "work/*/root/d/f9"))
		return len(found) == 1
	})
	// Another Open must not remove the running import.
	if _, err := Open(s.dir); err != nil {
		t.Fatal(err)
	}
	if found, _ := filepath.Glob(filepath.Join(s.dir, "work/*/root/d/f9")); len(found) != 1 {
		t.Error("Open removed the work of a living import")
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // the error of the kill is expected
	mustBeEmpty(t, s)
	if _, err := Open(s.dir); err != nil {
		t.Fatal(err)
	}
	mustBeEmpty(t, s) // and newStore checks the work directory
}

func waitFor(t *testing.T, what string, ready func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !ready(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited twenty seconds for %s", what)
		}
	}
}

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
		{"links out", members{symlink("dev", "/victim"), symlink("proc", "../../../../victim"), symlink("sys", "/victim"), symlink("tmp", "/etc"), symlink("box", ".."), symlink("sandbox", "/victim"), symlink("etc", "/victim")}},
		{"files", members{file("dev", ""), file("proc", ""), file("tmp", ""), file("box", ""), file("sandbox", "")}},
		{"accounts are links", members{symlink("etc/passwd", "../../../../victim/secret"), symlink("etc/group", "/usr/lib/group"), file("usr/lib/group", "root:x:0:\nstaff:x:50:sandboxuser,other\n")}},
		{"accounts are directories", members{dir("etc/passwd"), file("etc/group/x", "")}},
		{"a full sandbox directory", members{file("sandbox/a/b", "")}},
		{"a rival", members{file("etc/passwd", "root:x:0:0::/:/bin/sh\nuser:x:1000:1000::/:/bin/sh\nsandboxuser:x:7:7::/:/bin/sh\nbroken\n"), file("etc/group", "root:x:0:\nuser:x:1000:\n")}},
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
