package problem

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A member of a zip archive of a test.
type member struct {
	name, text string
	mode       fs.FileMode
}

func zipped(t testing.TB, members ...member) []byte {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for _, m := range members {
		h := &zip.FileHeader{Name: m.name, Method: zip.Deflate}
		h.SetMode(m.mode | 0o644)
		w, err := z.CreateHeader(h)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(m.text)); err != nil {
			t.Fatal(err)
		}
	}

	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// writeFiles writes files below a new directory: a text that begins with "-> " is a link.
func writeFiles(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}

		var err error
		if target, link := strings.CutPrefix(text, "-> "); link {
			err = os.Symlink(target, name)
		} else {
			err = os.WriteFile(name, []byte(text), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}

	return dir
}

// A directory and an archive of it have the same files.
func TestTreeOfADirectoryAndOfAnArchive(t *testing.T) {
	dir := writeFiles(t, map[string]string{
		"p/a.txt": "a", "p/b/c.txt": "c", "p/b/d": "-> c.txt", "p/e": "-> b", "p/.git/x": "no", "p/__MACOSX/y": "no", "p/b/.DS_Store": "no",
	})
	archive := filepath.Join(t.TempDir(), "p.zip")
	content := zipped(t, member{name: "p/a.txt", text: "a"}, member{name: `p\b\c.txt`, text: "c"},
		member{name: "p/b/d", text: "c.txt", mode: fs.ModeSymlink},
		member{name: "p/e", text: "b", mode: fs.ModeSymlink}, member{name: "p/.git/x", text: "no"}, member{name: "__MACOSX/p/y", text: "no"})
	if err := os.WriteFile(archive, content, 0o644); err != nil {
		t.Fatal(err)
	}

	for _, name := range []string{dir, archive} {
		tree, err := Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer tree.Close()

		p := tree.Unwrapped()
		want := []string{"a.txt", "b/c.txt", "b/d", "e/c.txt", "e/d"}
		if name == archive {
			want = []string{"a.txt", "b/c.txt", "b/d", "e/c.txt"} // a link to a directory has the files that are no links
		}
		if !slices.Equal(p.Names(), want) {
			t.Errorf("%s has %q; want %q", name, p.Names(), want)
		}
		if text, err := p.Read("b/d", 10); string(text) != "c" || err != nil {
			t.Errorf("%s: the link: %q, %v", name, text, err)
		}

		files, dirs := p.Children(".")
		if !slices.Equal(files, []string{"a.txt"}) || !slices.Equal(dirs, []string{"b", "e"}) {
			t.Errorf("%s: files %q, directories %q", name, files, dirs)
		}
		if p.Size("a.txt") != 1 || p.Has("b") || !p.HasDir("b") || p.HasDir("c") {
			t.Errorf("%s: sizes or names are wrong", name)
		}
		if _, err := p.Read("a.txt", 0); err == nil || !strings.Contains(err.Error(), "the maximum is") {
			t.Errorf("%s: a file above the limit: %v", name, err)
		}
	}
}

// Links of strangers to files of the teacher's are read neither from a directory nor from an archive.
func TestLinksLeadNowhereElse(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("secret"), 0o644); err != nil {
		t.Fatal(err)
	}

	dir := writeFiles(t, map[string]string{"1.in": "-> " + secret, "2.in": "-> ../../secret", "3.in": "-> 4.in", "self": "-> self",
		"up": "-> ..", "ok": ""})
	fromDir, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer fromDir.Close()

	fromZip, err := OpenZip("a.zip",
		zipped(t, member{name: "1.in", text: secret, mode: fs.ModeSymlink}, member{name: "2.in", text: "../../secret", mode: fs.ModeSymlink},
			member{name: "3.in", text: "4.in", mode: fs.ModeSymlink}, member{name: "self", text: "self", mode: fs.ModeSymlink},
			member{name: "up", text: "..", mode: fs.ModeSymlink}, member{name: "ok"}))
	if err != nil {
		t.Fatal(err)
	}

	for _, tree := range []*Tree{fromDir, fromZip} {
		if got, want := tree.BrokenLinks(), []string{"1.in", "2.in", "3.in", "self", "up"}; !slices.Equal(got, want) {
			t.Errorf("%s: broken are %q; want %q", tree.Label(), got, want)
		}
		for _, name := range tree.BrokenLinks() {
			if text, err := tree.Read(name, 100); err == nil || !strings.Contains(err.Error(), "is a link that leads out of") {
				t.Errorf("%s: %s: %q, %v", tree.Label(), name, text, err)
			}
		}
	}

	loop, err := Open(writeFiles(t, map[string]string{"a/b": "-> ../a"}))
	if err != nil || len(loop.BrokenLinks()) != 1 {
		t.Errorf("a link to its own directory: %v, %v", loop, err)
	}
	if _, err := Open(writeFiles(t, map[string]string{strings.Repeat("d/", 40) + "x": ""})); err == nil ||
		!strings.Contains(err.Error(), "more than 32 directories deep") {
		t.Errorf("deep directories: %v", err)
	}
}

func TestTreesAreBounded(t *testing.T) {
	for name, tt := range map[string]struct {
		content []byte
		want    string
	}{
		"no archive":  {[]byte("hello"), "is no archive that brig reads"},
		"up":          {zipped(t, member{name: "../x"}), "is not the name of a file below a directory"},
		"absolute":    {zipped(t, member{name: "/etc/passwd"}), "is not the name of a file below a directory"},
		"twice":       {zipped(t, member{name: "a"}, member{name: "a"}), `there are two files "a"`},
		"both":        {zipped(t, member{name: "a"}, member{name: "a/b"}), `"a" is a file and the directory of "a/b"`},
		"linked many": {zipped(t, many(400)...), "more than 100000 files"},
	} {
		if _, err := OpenZip("x.zip", tt.content); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v; want %s", name, err, tt.want)
		}
	}

	// A member that unpacks to more than it declares: its declared size is in the central directory.
	lying := zipped(t, member{name: "big", text: strings.Repeat("x", 1<<20)})
	at := bytes.LastIndex(lying, []byte("PK\x01\x02"))
	copy(lying[at+24:], []byte{10, 0, 0, 0})
	tree, err := OpenZip("x.zip", lying)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := tree.Read("big", 100); err == nil {
		t.Errorf("a member that lies about its size: %d bytes", len(text))
	}

	copy(lying[at+24:], []byte{0xfe, 0xff, 0xff, 0xff})
	huge := zipped(t, member{name: "a"}, member{name: "b"})
	for at := range huge {
		if bytes.HasPrefix(huge[at:], []byte("PK\x01\x02")) {
			copy(huge[at+24:], []byte{0xfe, 0xff, 0xff, 0xff})
		}
	}

	if _, err := OpenZip("x.zip", huge); err == nil || !strings.Contains(err.Error(), "its files have more than 4G unpacked") {
		t.Errorf("8 GiB: %v", err)
	}
}

// many are files in a directory, and links to the directory: each link multiplies them.
func many(n int) []member {
	var all []member
	for i := range n {
		all = append(all, member{name: fmt.Sprint("d/", i)}, member{name: fmt.Sprint("link", i), text: "d", mode: fs.ModeSymlink})
	}
	return all
}

// No archive makes the reader panic, or gives a name that leads out of a directory.
func FuzzOpenZip(f *testing.F) {
	f.Add(zipped(f, member{name: "a/b", text: "x"}, member{name: "c", text: "a", mode: fs.ModeSymlink}))
	f.Fuzz(func(t *testing.T, content []byte) {
		tree, err := OpenZip("x.zip", content)
		if err != nil {
			return
		}
		for _, name := range tree.Names() {
			if strings.HasPrefix(name, "/") || slices.Contains(strings.Split(name, "/"), "..") {
				t.Fatalf("name %q", name)
			}
			tree.Read(name, 1<<20)
		}
	})
}
