package rootfs

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/internal/testenv"
)

// AGT-03: on a full disk, an import fails with an error that names the directory, and leaves
// nothing. It succeeds when there is space.
func TestImportOnAFullDisk(t *testing.T) {
	testenv.NeedRoot(t)
	parent := t.TempDir()
	mount := func(flags uintptr, options string) {
		t.Helper()
		if err := unix.Mount("none", parent, "tmpfs", flags, options); err != nil {
			t.Fatal(err)
		}
	}

	noise := make([]byte, 1<<20) // incompressible, so its ratio is not that of a bomb
	for i := range noise {
		noise[i] = byte(rand.Uint32())
	}

	var many members
	for i := range 300 {
		many = append(many, file(strings.Repeat("d/", i%50)+"f"+strings.Repeat("x", i%200), ""))
	}

	for _, tt := range []struct {
		name, small string
		ms          members
	}{
		{"bytes", "size=512k,nr_inodes=9000", members{dir("bin"), file("bin/large", string(noise))}},
		{"inodes", "size=4m,nr_inodes=60", many},
	} {
		t.Run(tt.name, func(t *testing.T) {
			mount(0, tt.small)
			defer func() {
				if err := unix.Unmount(parent, 0); err != nil {
					t.Error(err)
				}
			}()

			s, err := Open(filepath.Join(parent, "store"))
			if err != nil {
				t.Fatal(err)
			}

			archive := tarOf(t, tt.ms...)
			_, err = s.Import(t.Context(), bytes.NewReader(archive), Options{Name: "x"})
			if !errors.Is(err, unix.ENOSPC) || !strings.Contains(err.Error(), s.dir+": free some") {
				t.Errorf("Import: %v; want it to name the place and the cure", err)
			}

			mustBeEmpty(t, s)
			if left, err := os.ReadDir(filepath.Join(s.dir, "work")); err != nil || len(left) != 0 {
				t.Errorf("work directory holds %v (%v); want nothing", left, err)
			}

			mount(unix.MS_REMOUNT, "size=16m,nr_inodes=9000")
			if _, err := s.Import(t.Context(), bytes.NewReader(archive), Options{Name: "x"}); err != nil {
				t.Errorf("with room: %v", err)
			}
		})
	}
}
