package rootfs

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/rootfs/archive"
)

// impliedDirs are 40 files, each below five directories without members.
func impliedDirs() (ms members) {
	for i := range 40 {
		ms = append(ms, file(fmt.Sprintf("p%d/q/r/s/t/f", i), "x"))
	}
	return ms
}

// IMG-50: directories for which an archive has no member are counted as entries, and as 4 KiB each, like
// those with one: in layers and in whole trees, also those behind links. The control is the same
// archive within its bounds.
func TestImpliedDirectoriesAreCounted(t *testing.T) {
	linked := members{symlink("var", "v/a/b/c"), file("var/x", "1")}
	for _, tt := range []struct {
		name          string
		ms            members
		entries, dirs int64
		bytes         int64
	}{
		{"plain", impliedDirs(), 240, 200, 40},
		{"behind a link", linked, 6, 4, 1},
		{"with members", members{dir("a"), dir("a/b"), file("a/b/c", "12")}, 3, 2, 2},
		{"members after they were implied", members{file("a/b/c", "12"), dir("a"), dir("a/b")}, 5, 2, 2},
	} {
		for _, layer := range []bool{false, true} {
			store := func(b archive.Bounds) (size, entries int64, err error) {
				s, text := newStore(t), tarOf(t, tt.ms...)
				if layer {
					l, err := s.ImportLayer(t.Context(), bytes.NewReader(text), digestOf(text), b)
					return l.Size, l.Entries, err
				}
				img, err := s.Import(t.Context(), bytes.NewReader(text), Options{Bounds: b})
				return img.Size, img.Entries, err
			}

			want := tt.bytes + tt.dirs*archive.DirBytes
			if size, entries, err := store(archive.Bounds{Entries: tt.entries, Bytes: want}); err != nil || size != want || entries != tt.entries {
				t.Errorf("%s, layer %v: %d bytes, %d entries, %v; want %d and %d", tt.name, layer, size, entries, err, want, tt.entries)
			}

			for _, b := range []archive.Bounds{{Entries: tt.entries - 1}, {Bytes: want - 1}} {
				if _, _, err := store(b); !errors.Is(err, archive.ErrTooLarge) {
					t.Errorf("%s, layer %v, %+v: %v; want ErrTooLarge", tt.name, layer, b, err)
				}
			}
		}
	}
}

// IMG-57: links lead down and down: no tree becomes deeper than a path can tell.
func TestTreesAreNoDeeperThanAPath(t *testing.T) {
	deep := strings.Repeat("a/", 120)
	ms := members{file("r/"+deep+"x", ""), symlink("l0", "r/"+deep)}
	for i := range 20 {
		ms = append(ms, file(fmt.Sprintf("l%d/%sx", i, deep), ""), symlink(fmt.Sprintf("l%d", i+1), fmt.Sprintf("l%d/%s", i, deep)))
	}

	for _, n := range []int{12, len(ms)} {
		s, text := newStore(t), tarOf(t, ms[:n]...)
		_, lerr := s.ImportLayer(t.Context(), bytes.NewReader(text), digestOf(text), archive.Bounds{})
		_, ierr := s.Import(t.Context(), bytes.NewReader(text), Options{})
		for _, err := range []error{lerr, ierr} {
			var unsafe *archive.UnsafeError
			if n < len(ms) && err != nil || n == len(ms) && !errors.As(err, &unsafe) {
				t.Errorf("%d members: %v", n, err)
			}
		}
	}
}
