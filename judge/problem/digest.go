package problem

import (
	"archive/zip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"

	"github.com/brig-sandbox/brig/api"
)

// MaxStored is the most bytes of one file of a package that is packed.
const MaxStored = 128 * api.MiB

// Digest identifies what a tree contains: "sha256:" and the SHA-256 of a line for each file, in the
// order of their names, with the file's own SHA-256, its x bit, its size and its name. So a directory
// and every archive of it have one digest, whatever the order, times, owners and compression of the
// archive are; a link counts as the file to which it leads. A tree with more than MaxBytes, with a file
// of more than MaxStored, or with a link that leads out of it, has none, and is an error.
func (t *Tree) Digest() (string, error) { return t.pack(nil) }

// Pack writes the files of a tree as a zip archive without links and times, and returns the tree's
// digest. Equal trees give equal archives, as long as the same version of brig writes them. It ends with the
// cause of ctx.
func (t *Tree) Pack(ctx context.Context, w io.Writer) (digest string, err error) {
	z := zip.NewWriter(untilWriter{ctx, w})
	if digest, err = t.pack(z); err != nil {
		return "", err
	}
	return digest, z.Close()
}

// An untilWriter fails once its context has ended, with the cause.
type untilWriter struct {
	ctx context.Context
	to  io.Writer
}

func (w untilWriter) Write(b []byte) (int, error) {
	if err := context.Cause(w.ctx); err != nil {
		return 0, err
	}
	return w.to.Write(b)
}

// pack computes the digest, and adds the files to z unless it is nil.
func (t *Tree) pack(z *zip.Writer) (string, error) {
	// Before anything is read: links can make a few files to many (TestLinksMakeNoEndlessPackage).
	if t.total() > int64(MaxBytes) {
		return "", fmt.Errorf("%s: %w", t.label, ErrTooLarge)
	}

	list := sha256.New()
	for _, name := range t.names {
		content, err := t.Read(name, int64(MaxStored))
		if err != nil {
			return "", fmt.Errorf("%s: %w", t.label, err)
		}

		sum, mode := sha256.Sum256(content), "-"
		if t.Executable(name) {
			mode = "x"
		}

		fmt.Fprintf(list, "%x %s %d %q\n", sum, mode, len(content), name) // a hash never fails
		if z == nil {
			continue
		}

		h := &zip.FileHeader{Name: name, Method: zip.Deflate}
		h.SetMode(0o644)
		if t.Executable(name) {
			h.SetMode(0o755)
		}

		w, err := z.CreateHeader(h)
		if err == nil {
			_, err = w.Write(content)
		}
		if err != nil {
			return "", err
		}
	}

	return "sha256:" + hex.EncodeToString(list.Sum(nil)), nil
}

// total is how many bytes all files have.
func (t *Tree) total() int64 {
	var n int64
	for _, f := range t.files {
		n += f.size // at most MaxFiles of MaxBytes: no overflow
	}
	return n
}
