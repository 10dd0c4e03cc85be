package problem

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// rawZip makes a zip archive whose names are written as they are.
func rawZip(t *testing.T, headers ...zip.FileHeader) []byte {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for _, h := range headers {
		h.NonUTF8 = true
		w, err := z.CreateRaw(&h)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(make([]byte, h.CompressedSize64)); err != nil {
			t.Fatal(err)
		}
	}

	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// Windows writes names in code page 437.
func TestZipsOfWindows(t *testing.T) {
	tree, err := OpenZip("x.zip",
		rawZip(t, zip.FileHeader{Name: "M\x81ller\\L\x94sung \xe1.py"}, zip.FileHeader{Name: "\x8ega/"}, zip.FileHeader{Name: "é.py"}))
	if err != nil {
		t.Fatal(err)
	}
	if got := tree.Names(); !slices.Equal(got, []string{"Müller/Lösung ß.py", "é.py"}) {
		t.Errorf("the names are %q", got)
	}
	if got := tree.Folders("."); !slices.Equal(got, []string{"Müller", "Äga"}) {
		t.Errorf("the directories are %q", got)
	}
}

// What cannot be read is a file in a tolerant tree, and an error in others.
func TestTolerantTrees(t *testing.T) {
	long := strings.Repeat(strings.Repeat("d", 250)+"/", 5)
	many := map[string]string{"ann.py": "A"}
	for i := range api.MaxFiles + 1 {
		many[fmt.Sprintf("bob/%d", i)] = ""
	}

	deep := writeFiles(t, map[string]string{"ann.py": "A", "bob/" + strings.Repeat("d/", maxDepth) + "x": ""})
	for _, tt := range []struct {
		name, from string
		content    []byte // of an archive; nil: from is a directory
		refused    string // name in the tolerant tree; empty: only that tree is wanted
		why        string
	}{
		{name: "a name above", content: rawZip(t, zip.FileHeader{Name: "ann.py"}, zip.FileHeader{Name: "../x"}), refused: "x",
			why: `the archive has a file with the name "../x"`},
		{name: "a long name", content: rawZip(t, zip.FileHeader{Name: "ann.py"}, zip.FileHeader{Name: long + "x"}), refused: long[:maxName],
			why: "is not the name of a file below"},
		{name: "two files of one name", content: rawZip(t, zip.FileHeader{Name: "ann.py"}, zip.FileHeader{Name: "b"}, zip.FileHeader{Name: "b"}),
			refused: "b (2)", why: "there are two files"},
		{name: "a password", content: rawZip(t, zip.FileHeader{Name: "ann.py"}, zip.FileHeader{Name: "b", Flags: 1}), refused: "b",
			why: "without a password"},
		{name: "a large file",
			content: rawZip(t, zip.FileHeader{Name: "ann.py"}, zip.FileHeader{Name: "b", UncompressedSize64: uint64(MaxBytes) + 1}), refused: "b",
			why: "b is 4096.0M: the maximum is 64M"},
		{name: "a file and a directory",
			content: rawZip(t, zip.FileHeader{Name: "ann.py"}, zip.FileHeader{Name: "b"}, zip.FileHeader{Name: "b/c"}), refused: "b",
			why: "is a file and the directory of"},
		{name: "a device", content: tarred(t, tar.Header{Name: "ann.py"}, tar.Header{Name: "b", Typeflag: tar.TypeChar}), refused: "b",
			why: "is neither a file nor a directory"},
		{name: "a hard link to nothing",
			content: tarred(t, tar.Header{Name: "ann.py"}, tar.Header{Name: "b", Typeflag: tar.TypeLink, Linkname: "c"}), refused: "b",
			why: "which is not before it"},
		{name: "a name that is not UTF-8", from: writeFiles(t, map[string]string{"ann.py": "A", "b\xff": ""}), refused: "b?",
			why: "is not UTF-8: rename it"},
		{name: "many directories", from: deep, refused: "bob", why: "directories deep"},
	} {
		if tt.content != nil {
			tt.from = filepath.Join(t.TempDir(), "x")
			if err := os.WriteFile(tt.from, tt.content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if tree, err := Open(tt.from); err == nil {
			t.Errorf("%s: Open accepts it", tt.name)
			_ = tree.Close()
		}

		tree, err := OpenTolerant(tt.from)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if _, err := tree.Read(tt.refused, 100); err == nil || !strings.Contains(err.Error(), tt.why) {
			t.Errorf("%s: reading %.80s of %.200q: %v; want %q", tt.name, tt.refused, tree.Names(), err, tt.why)
		}
		if !tree.Has("ann.py") {
			t.Errorf("%s: ann.py is not there", tt.name)
		}

		_ = tree.Close()
	}

	tree, err := OpenTolerant(writeFiles(t, many))
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()

	if _, err := tree.Read("bob", 1); !slices.Equal(tree.Names(), []string{"ann.py", "bob"}) || err == nil ||
		!strings.Contains(err.Error(), "it has 4097 files: the maximum is 4096") {
		t.Errorf("a directory with many files: %d names, %v", len(tree.Names()), err)
	}
}

// Each name that looks like another got the first number that was free.
func TestRefusedNamesGetNumbersInLittleTime(t *testing.T) {
	all := &Tree{files: map[string]treeFile{}, tolerant: true}
	begun := time.Now()
	for range MaxFiles {
		if err := all.refuse("\xff", fmt.Errorf("no name")); err != nil {
			t.Fatal(err)
		}
	}

	if took := time.Since(begun); took > time.Minute {
		t.Errorf("it took %v", took)
	}
	if !all.Has("?") || !all.Has("? (2)") || !all.Has(fmt.Sprintf("? (%d)", MaxFiles)) {
		t.Error(all.names[:3])
	}
}
