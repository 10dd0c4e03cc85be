package rootfs

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == AdmitArg {
		os.Exit(AdmitMain(os.Stdin, os.Stdout))
	}
	if len(os.Args) == 2 && os.Args[1] == "probe" {
		os.Exit(probeMain())
	}
	if len(os.Args) == 3 && os.Args[1] == "import" {
		os.Exit(importMain(os.Args[2]))
	}
	os.Exit(m.Run())
}

// needRoot skips the test if it does not run as root, or fails it where every test must run.
func needRoot(t testing.TB) {
	t.Helper()
	if os.Geteuid() == 0 {
		return
	}
	if os.Getenv("BRIG_TEST_MUST") == "1" {
		t.Fatal("needs root")
	}
	t.Skip("needs root")
}

// members are the members of an archive to be made.
type members []*tar.Header

func file(name, content string) *tar.Header {
	// Uname carries the content until the archive is made.
	return &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(len(content)), Uname: content, ModTime: epoch}
}

func dir(name string) *tar.Header {
	return &tar.Header{Typeflag: tar.TypeDir, Name: name, Mode: 0o755, ModTime: epoch}
}

func symlink(name, target string) *tar.Header {
	return &tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: target, Mode: 0o777, ModTime: epoch}
}

func hardlink(name, target string) *tar.Header {
	return &tar.Header{Typeflag: tar.TypeLink, Name: name, Linkname: target, Mode: 0o644, ModTime: epoch}
}

func special(name string, flag byte) *tar.Header {
	return &tar.Header{Typeflag: flag, Name: name, Mode: 0o666, Devmajor: 1, Devminor: 3, ModTime: epoch}
}

func with(h *tar.Header, change func(*tar.Header)) *tar.Header {
	change(h)
	return h
}

var epoch = time.Unix(1_600_000_000, 0)

// tarOf makes an uncompressed archive.
func tarOf(t testing.TB, ms ...*tar.Header) []byte {
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

// newStore makes a store in a directory that also contains a victim, and checks at the end that the
// victim is untouched and that no incomplete import remains.
func newStore(t testing.TB) *Store {
	t.Helper()
	needRoot(t)
	parent := t.TempDir()
	victim := plant(t, parent)
	s, err := Open(filepath.Join(parent, "store"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		victim.mustBeUntouched(t)
		left, err := os.ReadDir(filepath.Join(s.dir, "work"))
		if err != nil || len(left) != 0 {
			t.Errorf("work directory holds %v (%v); want nothing", left, err)
		}
	})
	return s
}

// A canary is a directory with a snapshot of all its contents and modes, to detect changes.
type canary struct{ dir, state string }

func plant(t testing.TB, parent string) canary {
	t.Helper()
	c := canary{dir: filepath.Join(parent, "victim")}
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

func (c canary) mustBeUntouched(t testing.TB) {
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

func digestOf(b []byte) string {
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}
