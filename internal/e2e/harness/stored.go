package harness

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// stored has the content of each file that a probe could alter for others: the image's tree, which all cells share, and
// the agent's binary.
type stored struct {
	files map[string][]byte
	piece []byte // what is read at a time: the files are read hundreds of times, and a checksum costs more than all else
}

// StoredFiles reads all files that a probe could alter.
func StoredFiles(t testing.TB, a *Agent) stored {
	t.Helper()
	list, err := a.Images(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	names := []string{fmt.Sprintf("/proc/%d/exe", a.Cmd.Process.Pid)}
	for _, img := range list {
		if !slices.Contains(img.Names, "tiny") {
			continue
		}

		root := filepath.Join(DataDir(t), "images", "images", strings.TrimPrefix(img.Digest, "sha256:"), "root")
		err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				names = append(names, p)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}

	if len(names) < 3 {
		t.Fatalf("the image has no files: %v", names)
	}

	s := stored{map[string][]byte{}, make([]byte, 256<<10)}
	for _, name := range names {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		s.files[name] = content
	}
	return s
}

// Unchanged compares twice: the page cache, which a cell may have altered, and what is read from
// the disk after the kernel was asked to drop the cache.
func (s stored) Unchanged(t testing.TB) {
	t.Helper()
	for name, want := range s.files {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}

		inMemory, err := s.same(f, want)
		dropped := unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)
		onDisk, again := s.same(f, want)
		if err := errors.Join(err, dropped, again, f.Close()); err != nil {
			t.Fatal(err)
		}
		if !inMemory {
			t.Errorf("%s has changed in memory", name)
		}
		if !onDisk {
			t.Errorf("%s has changed on disk", name)
		}
	}
}

// same reads a file from its beginning, and reports whether it has this content and no more.
func (s stored) same(f io.ReaderAt, want []byte) (bool, error) {
	at := 0
	for {
		n, err := f.ReadAt(s.piece, int64(at))
		if n > len(want)-at || !bytes.Equal(s.piece[:n], want[at:at+n]) {
			return false, nil
		}

		at += n
		if err == io.EOF {
			return at == len(want), nil
		}
		if err != nil {
			return false, err
		}
	}
}
