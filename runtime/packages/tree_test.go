package packages

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// tree makes a directory and returns it, opened.
func tree(t *testing.T, fill func(dir string)) *os.File {
	t.Helper()
	dir := t.TempDir()
	fill(dir)
	f, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// PKG-01, PKG-02. The archive of what a hostile installer left has regular files, directories and links as
// they are, and nothing else: no file is read through a link, no set-id bit and no special file is taken.
func TestHostileTreesAreWrittenAsTheyAre(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	must(t, os.WriteFile(secret, []byte("secret"), 0o600))
	root := tree(t, func(dir string) {
		p := filepath.Join(dir, "packages")
		must(t, os.MkdirAll(filepath.Join(p, "bin"), 0o777))
		must(t, os.WriteFile(filepath.Join(p, "bin", "x"), []byte("hello"), 0o644))
		must(t, os.Chmod(filepath.Join(p, "bin", "x"), 0o777|os.ModeSetuid))
		must(t, os.Link(filepath.Join(p, "bin", "x"), filepath.Join(p, "bin", "y")))
		must(t, os.Symlink(secret, filepath.Join(p, "link")))
		must(t, os.Symlink("/etc", filepath.Join(p, "etc")))
		must(t, os.Symlink("loop", filepath.Join(p, "loop")))
		must(t, unix.Mkfifo(filepath.Join(p, "fifo"), 0o666))
		must(t, os.WriteFile(filepath.Join(dir, "outside"), []byte("no"), 0o644))
	})

	var out bytes.Buffer
	must(t, writeTree(root, map[string]string{"node_modules": "packages/node_modules"}, &out))
	if bytes.Contains(out.Bytes(), []byte("secret\x00")) && bytes.Contains(out.Bytes(), []byte("\x00secret")) {
		t.Error("a file was read through a link")
	}

	var names []string
	for r := tar.NewReader(&out); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		must(t, err)
		names = append(names, h.Name)
		if h.Mode&^0o777 != 0 || h.Typeflag != tar.TypeSymlink && h.Mode&0o022 != 0 {
			t.Errorf("%s has the mode %o", h.Name, h.Mode)
		}
		if (h.Name == "packages/link" || h.Name == "packages/etc") && (h.Typeflag != tar.TypeSymlink || h.Size != 0) {
			t.Errorf("%s is %+v", h.Name, h)
		}
	}

	want := []string{"packages/", "packages/bin/", "packages/bin/x", "packages/bin/y", "packages/etc", "packages/link",
		"packages/loop", "node_modules"}
	if !slices.Equal(names, want) {
		t.Errorf("members %q; want %q", names, want)
	}
}

func TestTreesThatCannotBeStored(t *testing.T) {
	for name, fill := range map[string]func(p string){
		"nothing there": func(p string) { must(t, os.Remove(p)) },
		"a file":        func(p string) { must(t, errors.Join(os.Remove(p), os.Symlink("/etc", p))) },
		"a sparse file": func(p string) {
			must(t, os.WriteFile(filepath.Join(p, "x"), nil, 0o644))
			must(t, os.Truncate(filepath.Join(p, "x"), 1<<40))
		},
		"a name of a whiteout": func(p string) { must(t, os.WriteFile(filepath.Join(p, ".wh.x"), nil, 0o644)) },
		"too deep":             func(p string) { must(t, os.MkdirAll(p+strings.Repeat("/d", maxDepth+1), 0o755)) },
		"a path that is too long": func(p string) { // the kernel takes no path of more than 4,095 bytes, and it is the package's fault
			for range 17 {
				must(t, os.Rename(p, p+"-"))
				must(t, os.Mkdir(p, 0o755))
				must(t, os.Rename(p+"-", p+"/"+strings.Repeat("d", 250)))
			}
		},
		"names of more than 32 MiB": func(p string) { // PKG-11
			deep := filepath.Join(p, strings.TrimSuffix(strings.Repeat(strings.Repeat("d", 250)+"/", 10), "/"))
			must(t, os.MkdirAll(deep, 0o755))
			for i := range maxNames / 2500 {
				must(t, os.Symlink("x", filepath.Join(deep, strconv.Itoa(i))))
			}
		},
	} {
		root := tree(t, func(dir string) {
			p := filepath.Join(dir, "packages")
			must(t, os.Mkdir(p, 0o755))
			fill(p)
		})

		err := writeTree(root, nil, io.Discard)
		if name == "a file" { // a link is written as a link, and the set then has no directory
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if !errors.Is(err, errTree) {
			t.Errorf("%s: %v; want a refusal", name, err)
		}
	}
}

func TestTheListOfAnInstallerIsFiltered(t *testing.T) {
	root := tree(t, func(dir string) {
		must(t, os.Mkdir(filepath.Join(dir, "packages"), 0o755))
		text := "numpy==2.2.4\n\x1b[31mred==1\nx @ file:///etc/passwd\n@types/node==20.1.0\n" + strings.Repeat("y", 300) + "==1\nz==1 2\n"
		must(t, os.WriteFile(filepath.Join(dir, "packages/installed"), []byte(text), 0o644))
	})
	if got := readList(root); !slices.Equal(got, []string{"numpy==2.2.4", "@types/node==20.1.0"}) {
		t.Errorf("%q", got)
	}

	many := tree(t, func(dir string) {
		must(t, os.Mkdir(filepath.Join(dir, "packages"), 0o755))
		must(t, os.WriteFile(filepath.Join(dir, "packages/installed"), []byte(strings.Repeat("a"+strings.Repeat("b", 90)+"==1\n", 500)), 0o644))
	})
	if n := len(strings.Join(readList(many), "\n")); n > maxListedBytes || n < maxListedBytes/2 { // the store reads that of each set
		t.Errorf("%d bytes are kept of a list of 47,500; want at most %d", n, maxListedBytes)
	}

	linked := tree(t, func(dir string) {
		must(t, os.Mkdir(filepath.Join(dir, "packages"), 0o755))
		must(t, os.Symlink("/etc/hostname", filepath.Join(dir, "packages/installed")))
	})
	if got := readList(linked); got != nil {
		t.Errorf("through a link: %q", got)
	}
}

func TestLastWords(t *testing.T) {
	var l lastWords
	l.Write([]byte("first\n"))
	for range 1000 {
		l.Write([]byte("a line\x1b[31m of words\n"))
	}
	l.Write([]byte("ERROR: last\xff\n"))
	text := l.text()
	if len(text) > maxWords || !strings.HasPrefix(text, "a line[31m") || !strings.HasSuffix(text, "ERROR: last?") ||
		strings.ContainsRune(text, 0x1b) {
		t.Errorf("%d bytes, %.40q ... %q", len(text), text, text[len(text)-20:])
	}
}
