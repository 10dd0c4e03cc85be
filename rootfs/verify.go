package rootfs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A Verification says how a stored tree differs from what was imported: the paths
// of its members, sorted.
type Verification struct {
	Image   Image
	Amount  Amount // members and bytes looked at
	Changed []string
	Missing []string
	Extra   []string
}

// OK says that the tree is what was imported.
func (v Verification) OK() bool { return len(v.Changed)+len(v.Missing)+len(v.Extra) == 0 }

// Verify reads a stored tree again, all of it, and compares it with the record
// made when it was imported. The error wraps ErrNotFound when the image is removed
// meanwhile.
func (s *Store) Verify(ctx context.Context, nameOrDigest string) (_ Verification, err error) {
	img, err := s.Lookup(nameOrDigest)
	if err != nil {
		return Verification{}, err
	}
	held, err := s.Hold(img)
	if err != nil {
		return Verification{}, err
	}
	defer func() {
		removed, cerr := held.Close()
		if err = errors.Join(err, cerr); removed {
			err = errors.Join(s.notFound(nameOrDigest), s.Clean())
		}
	}()
	dir := fmt.Sprintf("/proc/self/fd/%d", held.dir.Fd()) // wherever it is moved
	then, err := readRecord(dir, img.Digest)
	if err != nil {
		return Verification{}, fmt.Errorf("verify image %s: %w", nameOrDigest, err)
	}
	v := Verification{Image: img}
	var text bytes.Buffer
	err = writeRecord(ctx, filepath.Join(dir, "root"), &text, func(size int64) {
		v.Amount.Entries++
		v.Amount.Unpacked += size
	})
	var now map[string]string
	if err == nil {
		now, err = parseRecord(text.Bytes())
	}
	if err != nil {
		return Verification{}, fmt.Errorf("verify image %s: %w", nameOrDigest, err)
	}
	for _, name := range slices.Sorted(maps.Keys(then)) {
		switch what, ok := now[name]; {
		case !ok:
			v.Missing = append(v.Missing, name)
		case what != then[name]:
			v.Changed = append(v.Changed, name)
		}
		delete(now, name)
	}
	v.Extra = slices.Sorted(maps.Keys(now))
	return v, nil
}

// damaged reports whether an image is stored and differs from what was imported, or cannot
// be read.
func (s *Store) damaged(ctx context.Context, digest string) (bool, error) {
	v, err := s.Verify(ctx, digest)
	switch {
	case ctx.Err() != nil:
		return false, context.Cause(ctx)
	case err != nil:
		return s.Has(digest), nil
	}
	return !v.OK(), nil
}

// ErrNoRecord means an image whose tree cannot be verified: there is nothing to
// hold it against.
var ErrNoRecord = errors.New("there is no sound record of its tree: build or import it again")

func readRecord(dir, digest string) (map[string]string, error) {
	meta, err := readMeta(dir, strings.TrimPrefix(digest, "sha256:"))
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(dir, recordName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err != nil || meta.Record != recordSum(text) {
		return nil, ErrNoRecord
	}
	return parseRecord(text)
}
