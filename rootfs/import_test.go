package rootfs

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/rootfs/archive"
)

func importTar(t testing.TB, s *Store, o Options, ms ...*tar.Header) (Image, error) {
	t.Helper()
	return s.Import(t.Context(), bytes.NewReader(tarOf(t, ms...)), o)
}

func TestImportStoresEveryCompressionUnderItsDigest(t *testing.T) {
	s := newStore(t)
	plain := tarOf(t, dir("bin/"), file("bin/hello", "hi\n"))
	var gz, zs, x bytes.Buffer
	gw := gzip.NewWriter(&gz)
	zw, _ := zstd.NewWriter(&zs)
	xw, _ := xz.NewWriter(&x)
	for _, w := range []interface {
		Write([]byte) (int, error)
		Close() error
	}{gw, zw, xw} {
		if _, err := w.Write(plain); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}

	for name, tarball := range map[string][]byte{"tar": plain, "tar.gz": gz.Bytes(), "tar.zst": zs.Bytes(), "tar.xz": x.Bytes()} {
		t.Run(name, func(t *testing.T) {
			img, err := s.Import(t.Context(), bytes.NewReader(tarball), Options{Name: name, ExpectDigest: digestOf(tarball)})
			if err != nil {
				t.Fatal(err)
			}
			if img.Digest != digestOf(tarball) || img.Archive != int64(len(tarball)) || img.Size != 3+archive.DirBytes || img.Entries != 2 {
				t.Errorf("image %+v; want digest %s, 3 bytes in a file and a directory, 2 entries", img, digestOf(tarball))
			}

			text, err := os.ReadFile(filepath.Join(img.Path, "bin/hello"))
			if err != nil || string(text) != "hi\n" {
				t.Errorf("bin/hello holds %q, %v", text, err)
			}

			got, err := s.Lookup(name)
			if err != nil || got.Digest != img.Digest || got.Names[0] != name {
				t.Errorf("Lookup(%q) = %+v, %v", name, got, err)
			}
		})
	}
}

func TestImportRefuses(t *testing.T) {
	for _, tt := range []struct {
		name string // attack id and case of the corpus
		ms   members
	}{
		{"IMG-01 dot-dot", members{file("../x", "")}},
		{"IMG-01 dot-dot behind a slash", members{file("/../x", "")}},
		{"IMG-01 dot-dot behind a directory", members{dir("a"), file("a/../../x", "")}},
		{"IMG-01 bare dot-dot", members{dir("..")}},
		{"IMG-05 hard link out", members{hardlink("x", "../victim/secret")}},
		{"IMG-05 hard link out, absolute", members{hardlink("x", "/../victim/secret")}},
		{"IMG-05 hard link out through a link", members{symlink("up", "../../../../victim"), hardlink("x", "up/secret")}},
		{"IMG-05 hard link through a link that is the last part", members{symlink("l", "../victim"), hardlink("x", "l/secret")}},
		{"a global header that renames",
			members{{Typeflag: tar.TypeXGlobalHeader, Name: "g", PAXRecords: map[string]string{"path": "x"}}, file("y", "")}},
		{"IMG-05 hard link to a directory", members{dir("d"), hardlink("x", "d")}},
		{"IMG-05 hard link to a later member", members{hardlink("x", "y"), file("y", "")}},
		{"IMG-05 hard link to the root", members{hardlink("x", "/")}},
		{"IMG-07 root replaced by a link", members{symlink("/.", "/etc")}},
		{"IMG-07 root replaced by a link of its name", members{symlink(".", "../victim")}},
		{"IMG-07 root replaced by a link without a name", members{symlink("", "/etc")}},
		{"IMG-07 root replaced by a file", members{file(".", "")}},
		{"IMG-07 root replaced by a file without a name", members{file("", "")}},
		{"IMG-10 character device", members{special("null", tar.TypeChar)}},
		{"IMG-10 block device", members{special("sda", tar.TypeBlock)}},
		{"IMG-10 named pipe", members{special("pipe", tar.TypeFifo)}},
		{"IMG-10 device below a link to dev", members{symlink("x", "dev"), special("x/null", tar.TypeChar)}},
		{"IMG-10 a socket, of a type that tar does not have", members{special("sock", 's')}},
		{"IMG-13 overlay whiteout", members{special("etc/x", tar.TypeChar)}},
		{"IMG-14 too deep", members{file(strings.Repeat("d/", 200)+"f", "")}},
		{"a file as a parent", members{file("f", ""), file("f/g", "")}},
		{"a link loop as a parent", members{symlink("a", "b"), symlink("b", "a"), file("a/x", "")}},
		{"a name part over 255 bytes", members{file(strings.Repeat("n", 256), "")}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newStore(t)
			_, err := importTar(t, s, Options{Name: "x"}, tt.ms...)
			var unsafe *archive.UnsafeError
			if !errors.As(err, &unsafe) {
				t.Errorf("Import: %v; want an UnsafeError", err)
			}
			mustBeEmpty(t, s)
		})
	}
}

func mustBeEmpty(t *testing.T, s *Store) {
	t.Helper()
	if list, err := s.List(); err != nil || len(list) != 0 {
		t.Errorf("List() = %v, %v; want nothing", list, err)
	}
}

func TestImportKeepsHostileLinksInside(t *testing.T) {
	for _, tt := range []struct {
		name  string
		ms    members
		where string // expected path of the file in the tree
	}{
		{"IMG-02 an absolute name loses its slash", members{file("/opt/x", "1")}, "opt/x"},
		{"IMG-03 a file through a link that climbs", members{symlink("up", ".."), file("up/x", "1")}, "x"},
		{"IMG-03 a file through an absolute link", members{symlink("up", "/victim"), file("up/x", "1")}, "victim/x"},
		{"IMG-04 two hops", members{dir("inner"), symlink("inner/up", ".."), symlink("inner/up/esc", "../victim"),
			file("inner/up/esc/x", "1")}, "victim/x"},
		{"IMG-06 a sibling with the same prefix", members{symlink("l", "../root-evil"), file("l/x", "1")}, "root-evil/x"},
		{"a file over a link to outside", members{symlink("x", "/victim/secret"), file("x", "1")}, "x"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			img, err := importTar(t, newStore(t), Options{}, tt.ms...)
			if err != nil {
				t.Fatal(err)
			}
			info, err := os.Lstat(filepath.Join(img.Path, tt.where))
			if err != nil || !info.Mode().IsRegular() || info.Size() != 1 {
				t.Errorf("%s: %v, %v; want a regular file of one byte", tt.where, info, err)
			}
		})
	}
}

func TestImportAccepts(t *testing.T) {
	// IMG-09: members of real archives on which stricter unpackers failed.
	old := unix.Umask(0o027)
	defer unix.Umask(old)

	s := newStore(t)
	img, err := importTar(t, s, Options{},
		dir("./"),
		file("run2/early", "e"), // before its directory
		dir("run2"),
		symlink("var/run", "/run"), // an absolute link, its parent and its target missing
		file("var/run/utmp", "u"),
		symlink("var/lock", "../spool/lock"), // relative, dangling, two levels missing
		file("var/lock/sub/l", "l"),
		file("usr/bin/tool", "t"),
		hardlink("usr/bin/alias", "/usr/bin/tool"),
		hardlink("usr/bin/dotted", "./usr/bin/tool"),
		hardlink("usr/bin/tool", "usr/bin/tool"), // itself
		file("usr/bin/..data", "two dots are a fine start of a name"),
		symlink("bin", "usr/bin"),
		hardlink("via", "bin/tool"), // through a link
		symlink("loop", "loop"),
		symlink("odd", "no such \n place"),
		file("\xff\xfe", "not utf-8"),
		special("dev/null", tar.TypeChar),
		file(".wh.gone", "w"),
	)
	if err != nil {
		t.Fatal(err)
	}

	for name, want := range map[string]string{
		"run2/early": "e", "run/utmp": "u", "spool/lock/sub/l": "l", "usr/bin/alias": "t", "usr/bin/dotted": "t",
		"usr/bin/tool": "t", "via": "t", "\xff\xfe": "not utf-8", ".wh.gone": "w",
	} {
		text, err := os.ReadFile(filepath.Join(img.Path, name))
		if err != nil || string(text) != want {
			t.Errorf("%q holds %q, %v; want %q", name, text, err, want)
		}
	}

	for _, name := range []string{"run2", "run", "spool/lock/sub", "usr", "var"} {
		if info, err := os.Stat(filepath.Join(img.Path, name)); err != nil || info.Mode() != fs.ModeDir|0o755 {
			t.Errorf("%s: %v, %v; want drwxr-xr-x whatever the umask", name, info, err)
		}
	}

	if _, err := os.Lstat(filepath.Join(img.Path, "dev/null")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("dev/null: %v; want it skipped", err)
	}
	if info, _ := os.Stat(filepath.Join(img.Path, "usr/bin/tool")); !info.ModTime().Equal(epoch) || info.Mode() != 0o644 {
		t.Errorf("usr/bin/tool: %v %v; want 0644 of %v", info.Mode(), info.ModTime(), epoch)
	}
}

func TestImportRefusesArchivesThatAreNotWhole(t *testing.T) {
	s := newStore(t)
	whole := tarOf(t, file("a", strings.Repeat("a", 2000)), file("b", strings.Repeat("\x00", 4096)))
	zipped := gzipped(t, whole)
	for _, tt := range []struct {
		name    string
		archive []byte
		want    error
	}{
		{"IMG-18 empty", nil, archive.ErrTruncated},
		{"IMG-18 cut in a header", whole[:300], archive.ErrTruncated},
		{"IMG-18 cut in a file", whole[:1000], archive.ErrTruncated},
		{"IMG-18 cut between members", whole[:512+2048], archive.ErrTruncated},
		{"IMG-18 cut after zeros of a file", whole[:512+2048+512+4096], archive.ErrTruncated},
		{"IMG-18 cut in the end marker", whole[:len(whole)-512], archive.ErrTruncated},
		{"IMG-18 compressed and cut", zipped[:len(zipped)-20], archive.ErrTruncated},
		{"IMG-18 compressed without its checksum", zipped[:len(zipped)-8], archive.ErrTruncated},
		{"IMG-18 trailing bytes", append(bytes.Clone(whole), "more"...), archive.ErrMalformed},
		{"IMG-18 concatenated", append(bytes.Clone(whole), whole...), archive.ErrMalformed},
		{"IMG-18 compressed and concatenated", append(bytes.Clone(zipped), zipped...), archive.ErrMalformed},
		{"IMG-18 trailing bytes after gzip", append(bytes.Clone(zipped), "more"...), archive.ErrTruncated},
		{"no archive at all", []byte(strings.Repeat("hello world\n", 200)), archive.ErrMalformed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := s.Import(t.Context(), bytes.NewReader(tt.archive), Options{})
			if !errors.Is(err, tt.want) {
				t.Errorf("Import: %v; want %v", err, tt.want)
			}
			mustBeEmpty(t, s)
		})
	}

	t.Run("padding to a tape block is fine", func(t *testing.T) {
		if _, err := s.Import(t.Context(), bytes.NewReader(append(whole, make([]byte, 9000)...)), Options{}); err != nil {
			t.Error(err)
		}
	})
}

func TestImportChecksTheDigest(t *testing.T) {
	s := newStore(t)
	_, err := importTar(t, s, Options{ExpectDigest: "sha256:" + strings.Repeat("0", 64)}, file("a", ""))
	if !errors.Is(err, ErrDigest) {
		t.Errorf("IMG-19: %v; want ErrDigest", err)
	}
	mustBeEmpty(t, s)
}

func TestImportEndsWithItsCaller(t *testing.T) {
	s := newStore(t)
	ctx, cancel := context.WithCancel(t.Context())
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}

	go func() {
		w.Write(tarOf(t, file("a", strings.Repeat("x", 4096)))[:2048])
		cancel()
		w.Close()
	}()

	if _, err := s.Import(ctx, r, Options{}); !errors.Is(err, context.Canceled) && !errors.Is(err, archive.ErrTruncated) {
		t.Errorf("Import: %v; want Canceled", err)
	}

	r.Close()
	mustBeEmpty(t, s)
}

// FIO-16: nothing of a zip archive is unpacked.
func TestImportNamesTheFormatOfANonArchive(t *testing.T) {
	s := newStore(t)
	for what, content := range map[string][]byte{
		"a zip archive":       []byte("PK\x03\x04 and so on"),
		"compressed by bzip2": []byte("BZh91AY"),
		"a program":           append([]byte("\x7fELF"), make([]byte, 2000)...),
		"not a tar archive":   []byte("short"),
		"JSON":                gzipped(t, []byte(`{"schemaVersion": 2}`)),
		"no members":          tarOf(t),
	} {
		_, err := s.Import(t.Context(), bytes.NewReader(content), Options{})
		if !errors.Is(err, archive.ErrMalformed) || !strings.Contains(err.Error(), what) {
			t.Errorf("%.10q: %v; want one that says %q", content, err, what)
		}
		mustBeEmpty(t, s)
	}
}

// Nothing of a refused archive is stored.
func TestDockerArchivesAreNotStored(t *testing.T) {
	s := newStore(t)
	_, err := s.Import(t.Context(), bytes.NewReader(tarOf(t, file("index.json", "{}"), file("oci-layout", "{}"))), Options{Name: "saved"})
	if !errors.Is(err, archive.ErrMalformed) || !strings.Contains(err.Error(), "brig rootfs import FILE") {
		t.Errorf("%v; want that it is a docker-save archive", err)
	}
	mustBeEmpty(t, s)
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
