package rootfs

import (
	"bytes"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/rootfs/archive"
)

// Every kind of entry that the usual tools write is imported, as a whole image and as a layer: global
// headers, labels, incremental directories, sparse files, long names, and hard links to symbolic links.
func TestArchivesOfRealTools(t *testing.T) {
	long := strings.Repeat("long/", 40) + "name"
	tree := t.TempDir()
	for name, text := range map[string]string{"bin/run": "#!/bin/sh\n", long: "deep"} {
		path := filepath.Join(tree, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}

	sh := func(command string) {
		t.Helper()
		cmd := exec.Command("sh", "-euc", command)
		cmd.Dir = tree
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", command, err, out)
		}
	}

	sh("ln bin/run bin/same; ln -s run bin/link; ln bin/link bin/twin; truncate -s 64K holes; printf x >>holes")
	sh("git init -q; git add .; git -c user.name=a -c user.email=a@b commit -qm a")

	const python = `python3 -c 'import sys, tarfile
with tarfile.open(sys.argv[1], "w", format=%s, pax_headers={"comment": "c"}) as t:
    for name in ("bin", "long", "holes"): t.add(name)' "$0"`

	for name, command := range map[string]string{
		"git archive":               "git archive -o $0 HEAD",
		"tar":                       "tar -cf $0 bin long holes",
		"tar --format=oldgnu":       "tar --format=oldgnu -cf $0 bin long holes",
		"tar --format=pax":          "tar --format=pax -cf $0 bin long holes",
		"tar --format=pax, global":  "tar --format=pax --pax-option=globexthdr.name=g,mtime=7 -cf $0 bin long holes",
		"tar --sparse":              "tar -S -cf $0 bin long holes",
		"tar --format=pax --sparse": "tar --format=pax -S -cf $0 bin long holes",
		"tar --label":               "tar -V name -cf $0 bin long holes",
		"tar --listed-incremental":  "tar --exclude=.git -g $0.list -cf $0 .",
		"tar --xattrs --acls":       "tar --xattrs --acls --selinux -cf $0 bin long holes",
		"busybox tar":               "busybox tar -cf $0 bin long holes",
		"tarfile, pax":              strings.ReplaceAll(python, "%s", "tarfile.PAX_FORMAT"),
		"tarfile, GNU":              strings.ReplaceAll(python, "%s", "tarfile.GNU_FORMAT"),
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "a.tar")
			cmd := exec.Command("sh", "-euc", command, file)
			cmd.Dir = tree
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}

			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}

			s := newStore(t)
			img, err := s.Import(t.Context(), bytes.NewReader(text), Options{})
			if err != nil {
				t.Fatal(err)
			}

			want := map[string]string{"bin/run": "#!/bin/sh\n", "bin/same": "#!/bin/sh\n", long: "deep",
				"holes": strings.Repeat("\x00", 64<<10) + "x", "bin/link": "-> run", "bin/twin": "-> run"}
			if got := contents(t, img.Path); !maps.Equal(got, want) {
				t.Errorf("it has %q; want %q", slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
			}
			if _, err := s.ImportLayer(t.Context(), bytes.NewReader(text), digestOf(text), archive.Bounds{}); err != nil {
				t.Errorf("as a layer: %v", err)
			}
		})
	}
}

// contents returns the text of each file below dir, and the target of each symbolic link after "-> ",
// without what brig adds to every image.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	got := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(dir, path)
		if err != nil || d.IsDir() || strings.HasPrefix(name, "etc/") || name == "sandbox" {
			return err
		}
		if d.Type()&fs.ModeSymlink != 0 {
			target, err := os.Readlink(path)
			got[name] = "-> " + target
			return err
		}
		text, err := os.ReadFile(path)
		got[name] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}
