package e2e

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// checksums has a checksum of each file that a probe could alter for others: the image's tree,
// which all cells share, and the agent's binary.
type checksums map[string][sha256.Size]byte

func storedChecksums(t testing.TB, a *agent) checksums {
	t.Helper()
	list, err := a.Images(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	files := []string{fmt.Sprintf("/proc/%d/exe", a.cmd.Process.Pid)}
	for _, img := range list {
		if !slices.Contains(img.Names, "tiny") {
			continue
		}

		root := filepath.Join(dataDir(t), "images", "images", strings.TrimPrefix(img.Digest, "sha256:"), "root")
		err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				files = append(files, p)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}

	if len(files) < 3 {
		t.Fatalf("the image has no files: %v", files)
	}

	sums := checksums{}
	for _, f := range files {
		sums[f] = checksum(t, f)
	}
	return sums
}

// unchanged compares twice: the page cache, which a cell may have altered, and what is read from
// the disk after the kernel was asked to drop the cache.
func (c checksums) unchanged(t testing.TB) {
	t.Helper()

	for file, want := range c {
		if checksum(t, file) != want {
			t.Errorf("%s has changed in memory", file)
		}

		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}

		err = errors.Join(unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED), f.Close())
		if err != nil {
			t.Fatal(err)
		}
		if checksum(t, file) != want {
			t.Errorf("%s has changed on disk", file)
		}
	}
}

func checksum(t testing.TB, file string) [sha256.Size]byte {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return sha256.Sum256(text)
}
