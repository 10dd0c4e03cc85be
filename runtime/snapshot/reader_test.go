package snapshot

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/runtime/linux"
)

// SNP-09: A damaged file is an error, whichever byte is wrong, and never more than that: its reader believes nothing.
func TestDamagedFiles(t *testing.T) {
	store := newStore(t)
	root, dir := newPlaces(t)
	asProgram(t, func() error {
		return errors.Join(os.Mkdir(filepath.Join(dir, "box/d"), 0o755), os.WriteFile(filepath.Join(dir, "box/d/x"), []byte("x"), 0o644),
			os.Symlink("x", filepath.Join(dir, "box/d/l")), os.Link(filepath.Join(dir, "box/d/x"), filepath.Join(dir, "box/h")))
	})
	made, err := save(t, store, root, &Walk{}, "")
	must(t, err)
	path := filepath.Join(store.dir(owner), strings.TrimPrefix(made.ID, idPrefix)+suffix)
	whole, err := os.ReadFile(path)
	must(t, err)

	tried := 0
	try := func(text []byte, what string) {
		t.Helper()
		must(t, os.WriteFile(path, text, 0o600))
		f, err := os.Open(path)
		must(t, err)
		defer f.Close()
		if err := Diff(t.Context(), nil, f, func(api.PathChange) error { return nil }); err == nil {
			t.Errorf("%s: compared without an error", what)
		}
		if tried++; tried%31 != 0 { // each makes a file system
			return
		}
		other, _ := newPlaces(t)
		err = linux.WithRightsOf(program, program, func() error { return (&Restore{Root: other}).Read(t.Context(), f) })
		var e *api.Error
		if !errors.Is(err, errDamaged) && !errors.As(err, &e) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for at := aboutSize; at < len(whole); at++ {
		for _, bit := range []byte{1, 0x80} {
			changed := slices.Clone(whole)
			changed[at] ^= bit
			try(changed, fmt.Sprintf("byte %d ^ %#x", at-aboutSize, bit))
		}
	}
	for end := aboutSize; end < len(whole); end += 7 {
		try(whole[:end], fmt.Sprintf("cut at %d", end-aboutSize))
	}
	must(t, os.WriteFile(path, whole, 0o600))
	other, _ := newPlaces(t)
	must(t, load(t, store, other, made.ID, false)) // the positive control
}

// FuzzReader reads whatever is in a file.
func FuzzReader(f *testing.F) {
	dir := (&record{header: header{Kind: kindDir}, Name: "box"}).append(nil)
	leave := (&record{header: header{Kind: kindLeave}}).append(nil)
	link := (&record{header: header{Kind: kindSymlink}, Name: "l", Text: "/etc"}).append(nil)
	end := (&record{header: header{Kind: kindEnd}}).append(nil)
	f.Add(slices.Concat(dir, link, leave, end, make([]byte, 32)))
	f.Add(slices.Concat(dir, dir, dir, leave))
	f.Add([]byte("x"))
	f.Fuzz(func(t *testing.T, records []byte) {
		file, err := os.CreateTemp(t.TempDir(), "")
		must(t, err)
		defer file.Close()
		_, err = file.WriteAt(records, aboutSize)
		must(t, err)
		count := 0
		_ = Diff(context.Background(), nil, file, func(c api.PathChange) error {
			if count++; strings.Contains(c.Path, "/../") || count > len(records) {
				t.Fatalf("%q of %d bytes", c.Path, len(records))
			}
			return nil
		})
	})
}
