// Package archivetest makes archives for tests, and directories that no archive may change.
package archivetest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Members are the members of an archive to be made.
type Members []*tar.Header

// Epoch is when the members were modified.
var Epoch = time.Unix(1_600_000_000, 0)

// File returns a regular file.
func File(name, content string) *tar.Header {
	// Uname carries the content until the archive is made.
	return &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(len(content)),
		Uname: content, ModTime: Epoch}
}

// Dir returns a directory.
func Dir(name string) *tar.Header {
	return &tar.Header{Typeflag: tar.TypeDir, Name: name, Mode: 0o755, ModTime: Epoch}
}

// Symlink returns a symbolic link.
func Symlink(name, target string) *tar.Header {
	return &tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: target, Mode: 0o777, ModTime: Epoch}
}

// Hardlink returns a hard link.
func Hardlink(name, target string) *tar.Header {
	return &tar.Header{Typeflag: tar.TypeLink, Name: name, Linkname: target, Mode: 0o644, ModTime: Epoch}
}

// Special returns a device or another member without content.
func Special(name string, flag byte) *tar.Header {
	return &tar.Header{Typeflag: flag, Name: name, Mode: 0o666, Devmajor: 1, Devminor: 3, ModTime: Epoch}
}

// Tar makes an uncompressed archive.
func Tar(t testing.TB, ms ...*tar.Header) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, m := range ms {
		h := *m
		content := h.Uname
		h.Uname = ""
		if err := w.WriteHeader(&h); err != nil {
			t.Fatalf("header %q: %v", h.Name, err)
		}
		if h.Typeflag == tar.TypeReg {
			if _, err := w.Write([]byte(content)); err != nil {
				t.Fatal(err)
			}
		}
	}

	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// Gzip compresses b.
func Gzip(t testing.TB, b []byte) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := gzip.NewWriter(&buf)
	if _, err := w.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// A Victim is a directory with a snapshot of all its contents and modes, to detect changes.
type Victim struct{ dir, state string }

// Plant makes a victim in parent.
func Plant(t testing.TB, parent string) Victim {
	t.Helper()
	c := Victim{dir: filepath.Join(parent, "victim")}
	for name, text := range map[string]string{"secret": "do not touch\n", "sub/x": "nor this\n"} {
		path := filepath.Join(c.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
	}

	c.state = snapshot(t, c.dir)
	return c
}

// MustBeUntouched fails the test if the victim changed.
func (c Victim) MustBeUntouched(t testing.TB) {
	t.Helper()
	if now := snapshot(t, c.dir); now != c.state {
		t.Errorf("the victim changed:\n%s\nwas\n%s", now, c.state)
	}
}

// snapshot returns a listing of a directory with modes, times, link counts and contents.
func snapshot(t testing.TB, root string) string {
	t.Helper()
	var out bytes.Buffer
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}

		info, err := d.Info()
		if err != nil {
			return err
		}

		rel, _ := filepath.Rel(root, path)
		fmt.Fprintf(&out, "%s %v %v", rel, info.Mode(), info.ModTime().UTC())

		switch {
		case info.Mode().IsRegular():
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			fmt.Fprintf(&out, " %x", sha256.Sum256(text))
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			fmt.Fprintf(&out, " -> %s", target)
		}

		out.WriteByte('\n')
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}
