package problem

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
)

// tarred is a tar archive of these headers; the content of a regular file is its Linkname.
func tarred(t testing.TB, members ...tar.Header) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, h := range members {
		text := ""
		if h.Typeflag == tar.TypeReg || h.Typeflag == 0 {
			text, h.Linkname, h.Size = h.Linkname, "", int64(len(h.Linkname))
		}
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, text); err != nil {
			t.Fatal(err)
		}
	}

	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func compressed(t testing.TB, how string, content []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	var w io.WriteCloser = gzip.NewWriter(&out)
	if how == "zst" {
		z, err := zstd.NewWriter(&out)
		if err != nil {
			t.Fatal(err)
		}
		w = z
	}
	if _, err := w.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// write writes a file into a new directory.
func write(t testing.TB, name string, content []byte) string {
	t.Helper()
	name = filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(name, content, 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}

func opened(t testing.TB, name string) *Tree {
	t.Helper()
	tree, err := Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tree.Close() })
	return tree
}

// A directory and every kind of archive of it are the same package, with one digest; packing gives
// another archive of it, the same bytes each time.
func TestOnePackageHasOneDigest(t *testing.T) {
	dir := writeFiles(t, map[string]string{"p/a.txt": "a", "p/b/c.txt": "c", "p/b/run": "#!", "p/b/d": "-> c.txt", "p/.git/x": "no"})
	if err := os.Chmod(filepath.Join(dir, "p/b/run"), 0o755); err != nil {
		t.Fatal(err)
	}

	asTar := tarred(t, tar.Header{Name: "./"}, tar.Header{Name: "./p/b/", Typeflag: tar.TypeDir},
		tar.Header{Name: "./p/b/d", Typeflag: tar.TypeSymlink, Linkname: "c.txt"},
		tar.Header{Name: "./p/b/c.txt", Linkname: "c", ModTime: time.Unix(7, 0), Uid: 77},
		tar.Header{Name: "./p/b/run", Mode: 0o700, Linkname: "#!"},
		tar.Header{Name: "./p/a.txt", Linkname: "a"}, tar.Header{Name: "./p/.git/x", Linkname: "no"})

	asZip := zipped(t, member{name: "p/a.txt", text: "a"}, member{name: "p/b/d", text: "c.txt", mode: fs.ModeSymlink},
		member{name: "p/b/c.txt", text: "c"}, member{name: "p/b/run", text: "#!", mode: 0o755})
	var want string
	for _, name := range []string{dir, write(t, "p.tar", asTar), write(t, "p.tgz", compressed(t, "gz", asTar)),
		write(t, "p.tar.zst", compressed(t, "zst", asTar)), write(t, "p.zip", asZip)} {
		tree := opened(t, name).Unwrapped()
		if names := []string{"a.txt", "b/c.txt", "b/d", "b/run"}; !slices.Equal(tree.Names(), names) {
			t.Fatalf("%s has %q; want %q", name, tree.Names(), names)
		}
		if text, err := tree.Read("b/d", 10); string(text) != "c" || err != nil || !tree.Linked("b/d") || tree.Linked("b/c.txt") {
			t.Errorf("%s: the link: %q, %v", name, text, err)
		}

		digest, err := tree.Digest()
		if err != nil || want != "" && digest != want {
			t.Errorf("%s: digest %s, %v; want %s", name, digest, err, want)
		}

		want = digest
		var first, second bytes.Buffer
		for _, out := range []*bytes.Buffer{&first, &second} {
			if packed, err := tree.Pack(t.Context(), out); packed != digest || err != nil {
				t.Errorf("%s: packed as %s, %v; want %s", name, packed, err, digest)
			}
		}

		if again, err := opened(t, write(t, "again.zip", first.Bytes())).Digest(); again != digest || err != nil ||
			!bytes.Equal(first.Bytes(), second.Bytes()) {
			t.Errorf("%s: the packed tree has digest %s, %v; want %s", name, again, err, digest)
		}
	}

	for change, files := range map[string]map[string]string{
		"content": {"a.txt": "b", "b/c.txt": "c", "b/d": "c", "b/run": "#!"},
		"name":    {"a.txu": "a", "b/c.txt": "c", "b/d": "c", "b/run": "#!"},
		"x bit":   {"a.txt": "a", "b/c.txt": "c", "b/d": "c", "b/run": "#!"},
		"a file":  {"a.txt": "a", "b/c.txt": "c", "b/d": "c"},
	} {
		if digest, err := opened(t, writeFiles(t, files)).Digest(); digest == want || err != nil {
			t.Errorf("another %s: the same digest %s, %v", change, digest, err)
		}
	}
}

// A package has the same files however its archive was made: by git archive, with a label, as an
// incremental archive, and with hard links to symbolic links.
func TestMembersOfRealTools(t *testing.T) {
	link := func(flag byte, name, to string) tar.Header {
		return tar.Header{Typeflag: flag, Name: name, Linkname: to}
	}
	tree := opened(t, write(t, "p.tar", tarred(t,
		tar.Header{Typeflag: tar.TypeXGlobalHeader, Name: "pax_global_header", PAXRecords: map[string]string{"comment": "0123"}},
		tar.Header{Typeflag: tarLabel, Name: "label"}, tar.Header{Typeflag: tarDumpDir, Name: "p/"},
		tar.Header{Name: "p/a", Linkname: "1"}, link(tar.TypeSymlink, "p/l", "a"), link(tar.TypeLink, "p/m", "p/l"),
		link(tar.TypeLink, "p/n", "./p/m"))))
	if names := []string{"p/a", "p/l", "p/m", "p/n"}; !slices.Equal(tree.Names(), names) {
		t.Fatalf("it has %q; want %q", tree.Names(), names)
	}

	for _, name := range []string{"p/l", "p/m", "p/n"} {
		if text, err := tree.Read(name, 10); string(text) != "1" || err != nil || !tree.Linked(name) {
			t.Errorf("%s has %q, %v; a link: %v", name, text, err, tree.Linked(name))
		}
	}
}

// GRD-21: what an archive may unpack to is bounded, and its names stay inside.
func TestTarsAreBounded(t *testing.T) {
	huge := tar.Header{Name: "huge", Size: 5 << 30, Mode: 0o644, Format: tar.FormatPAX}
	var declared bytes.Buffer
	if err := tar.NewWriter(&declared).WriteHeader(&huge); err != nil {
		t.Fatal(err)
	}

	for name, tt := range map[string]struct {
		content []byte
		want    string
	}{
		"up":       {tarred(t, tar.Header{Name: "../x"}), "is not the name of a file below a directory"},
		"absolute": {tarred(t, tar.Header{Name: "/etc/passwd"}), "is not the name of a file below a directory"},
		"twice":    {tarred(t, tar.Header{Name: "a"}, tar.Header{Name: "./a"}), `there are two files "a"`},
		"both":     {tarred(t, tar.Header{Name: "a"}, tar.Header{Name: "a/b"}), `"a" is a file and the directory of "a/b"`},
		"device":   {tarred(t, tar.Header{Name: "d", Typeflag: tar.TypeChar}), `"d" is neither a file nor a directory nor a link`},
		"hard link": {tarred(t, tar.Header{Name: "h", Typeflag: tar.TypeLink, Linkname: "../../etc/passwd"}),
			"which is not before it in the archive"},
		"too large": {declared.Bytes(), "its files have more than 4G unpacked"},
		"cut": {tarred(t, tar.Header{Name: "a", Linkname: strings.Repeat("x", 2000)})[:1000],
			"the archive is incomplete, its end is missing"},
		"no tar":      {compressed(t, "gz", []byte("hello")), "what is compressed in it is no tar archive"},
		"broken gzip": {append([]byte{0x1f, 0x8b}, "hello"...), "x.tar: "},
		"broken zstd": {append([]byte{0x28, 0xb5, 0x2f, 0xfd}, "hello"...), "read the tar archive"},
		"many": {compressed(t, "zst", tarred(t, slices.Repeat([]tar.Header{{Name: "d/", Typeflag: tar.TypeDir}}, MaxFiles+1)...)),
			"there are more than 100000 files"},
	} {
		_, err := Open(write(t, "x.tar", tt.content))
		if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "x.tar: ") {
			t.Errorf("%s: %v; want %s", name, err, tt.want)
		}
	}

	links := opened(t, write(t, "l.tar", tarred(t, tar.Header{Name: "1.in", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"},
		tar.Header{Name: "2.in", Typeflag: tar.TypeSymlink, Linkname: "../x"}, tar.Header{Name: "ok"})))
	if got := links.BrokenLinks(); !slices.Equal(got, []string{"1.in", "2.in"}) {
		t.Errorf("broken are %q", got)
	}
	if digest, err := links.Digest(); err == nil || !strings.Contains(err.Error(), "1.in is a link that leads out of the archive") {
		t.Errorf("a tree with a link outward has the digest %s, %v", digest, err)
	}
}

// Links make many files of one: what they come to is bounded when it is read.
func TestLinksMakeNoEndlessPackage(t *testing.T) {
	members := []tar.Header{{Name: "big", Linkname: strings.Repeat("x", int(MaxStored))}}
	for i := range 33 {
		members = append(members, tar.Header{Name: "link" + strings.Repeat("x", i), Typeflag: tar.TypeSymlink, Linkname: "big"})
	}
	tree := opened(t, write(t, "x.tar.zst", compressed(t, "zst", tarred(t, members...))))
	if digest, err := tree.Digest(); err == nil || !strings.Contains(err.Error(), "its files have more than 4G unpacked") {
		t.Errorf("digest %s, %v", digest, err)
	}
	one := opened(t, write(t, "y.zip", zipped(t, member{name: "big", text: strings.Repeat("x", int(MaxStored)+1)})))
	if digest, err := one.Digest(); err == nil || !strings.Contains(err.Error(), "the maximum is 128M") {
		t.Errorf("a file of more than MaxStored: digest %s, %v", digest, err)
	}
}

// No archive makes the reader panic, or gives a name that leads out of a directory.
func FuzzOpenTar(f *testing.F) {
	f.Add(tarred(f, tar.Header{Name: "a/b", Linkname: "x"}, tar.Header{Name: "c", Typeflag: tar.TypeSymlink, Linkname: "a"},
		tar.Header{Name: "d", Typeflag: tar.TypeLink, Linkname: "a/b"}))
	f.Add(compressed(f, "zst", tarred(f, tar.Header{Name: "a"})))
	f.Fuzz(func(t *testing.T, content []byte) {
		tree, err := openTar("x.tar", bytes.NewReader(content), false)
		if err != nil {
			return
		}
		defer tree.Close()

		for _, name := range tree.Names() {
			if strings.HasPrefix(name, "/") || slices.Contains(strings.Split(name, "/"), "..") {
				t.Fatalf("name %q", name)
			}
			tree.Read(name, 1<<20)
		}

		if digest, err := tree.Digest(); err == nil {
			var out bytes.Buffer
			if packed, err := tree.Pack(t.Context(), &out); packed != digest || err != nil {
				t.Fatalf("digest %s, packed %s, %v", digest, packed, err)
			}
			if _, err := zip.NewReader(bytes.NewReader(out.Bytes()), int64(out.Len())); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// An archive that was cut anywhere is never read as if it were whole: a package would lose tests without a word.
func TestArchivesThatWereCut(t *testing.T) {
	var members []tar.Header
	var files []member
	for _, name := range []string{"p/1.in", "p/1.ans", "p/2.in", "p/2.ans"} {
		members = append(members, tar.Header{Name: name, Linkname: strings.Repeat(name+" ", 100)})
		files = append(files, member{name: name, text: strings.Repeat(name+" ", 100)})
	}

	plain := tarred(t, members...)
	for name, whole := range map[string][]byte{"p.tar": plain, "p.tgz": compressed(t, "gz", plain), "p.tar.zst": compressed(t, "zst", plain),
		"p.zip": zipped(t, files...)} {
		opened(t, write(t, name, whole))
		minimum, maximum := 300, len(whole)-1024 // the beginning says what it is; what has one of two blocks at the end is whole
		if name != "p.tar" {
			minimum, maximum = 12, len(whole)-30
		}

		for n := minimum; n < maximum; n += max(1, len(whole)/64) {
			tree, err := Open(write(t, name, whole[:n]))
			if err == nil {
				t.Errorf("%d of %d bytes of %s were read as a package of %q", n, len(whole), name, tree.Names())
				tree.Close()
			} else if !strings.Contains(err.Error(), "the archive is incomplete") {
				t.Errorf("%d of %d bytes of %s: %v", n, len(whole), name, err)
			}
		}
	}

	for n := 512; n <= len(plain)-1024; n += 512 { // between two blocks
		if tree, err := Open(write(t, "p.tar", plain[:n])); err == nil {
			t.Errorf("%d of %d bytes of p.tar were read as a package of %q", n, len(plain), tree.Names())
			tree.Close()
		}
	}
}
