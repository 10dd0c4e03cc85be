package mount

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/internal/testenv"
	"github.com/brig-sandbox/brig/runtime/linux"
)

// clonesFor makes n trees with one file each, and idmapped clones of them, the topmost first. close
// closes the clones.
func clonesFor(t testing.TB, dir string, n int) (clones func() (made []*os.File, close func())) {
	t.Helper()
	userns, err := linux.MappedNamespace([]syscall.SysProcIDMap{{ContainerID: 0, HostID: 100_000, Size: 1000}})
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { userns.Close() })
	var trees []*os.File
	for i := range n {
		tree := filepath.Join(dir, fmt.Sprint("tree", i))
		if err := errors.Join(os.Mkdir(tree, 0o755), os.WriteFile(filepath.Join(tree, fmt.Sprint("file", i)), nil, 0o644)); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(tree)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		trees = append(trees, f)
	}

	return func() (made []*os.File, close func()) {
		for _, tree := range trees {
			c, err := CloneTree(tree, AttrImage, userns)
			if err != nil {
				t.Fatal(err)
			}
			made = append(made, c)
		}
		return made, func() {
			for _, c := range made {
				c.Close()
			}
		}
	}
}

// An overlay shows the files of all its trees, with their owners shifted, read-only, nosuid and nodev;
// also on a kernel that wants the trees mounted, and then no mount of them remains.
func TestOverlayOfClones(t *testing.T) {
	testenv.NeedRoot(t)
	testenv.CleanHost(t)

	for _, attached := range []bool{false, true} {
		t.Run(fmt.Sprint("attached ", attached), func(t *testing.T) {
			needAttached = attached
			defer func() { needAttached = false }()

			dir := t.TempDir()
			make := clonesFor(t, dir, 3)
			clones, closeClones := make()
			root, at := filepath.Join(dir, "root"), filepath.Join(dir, "at")
			if err := os.Mkdir(root, 0o755); err != nil {
				t.Fatal(err)
			}

			err := OverlayClones(clones, "", root, at, unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV)
			closeClones()
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := unix.Unmount(root, 0); err != nil {
					t.Error(err)
				}
			}()

			for i := range 3 {
				var st unix.Stat_t
				if err := unix.Stat(filepath.Join(root, fmt.Sprint("file", i)), &st); err != nil || st.Uid != 100_000 {
					t.Errorf("file %d belongs to %d, %v; want 100000", i, st.Uid, err)
				}
			}

			var fs unix.Statfs_t
			if err := unix.Statfs(root, &fs); err != nil ||
				fs.Flags&(unix.ST_RDONLY|unix.ST_NOSUID|unix.ST_NODEV) != unix.ST_RDONLY|unix.ST_NOSUID|unix.ST_NODEV {
				t.Errorf("flags %#x, %v", fs.Flags, err)
			}
			if err := os.WriteFile(filepath.Join(root, "new"), nil, 0o644); !errors.Is(err, unix.EROFS) {
				t.Errorf("a write: %v; want EROFS", err)
			}
			if _, err := os.Stat(at); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("%s remains: %v", at, err)
			}
		})
	}
}

// BenchmarkImageMount shows what the root of a cell costs by the number of its trees: one is the mount of
// an image without layers.
func BenchmarkImageMount(b *testing.B) {
	testenv.NeedRoot(b)

	for _, n := range []int{1, 3, 10, 41} {
		for _, attached := range []bool{false, true} {
			b.Run(fmt.Sprint(n, " trees attached ", attached), func(b *testing.B) {
				needAttached = attached
				defer func() { needAttached = false }()

				dir := b.TempDir()
				make := clonesFor(b, dir, n)
				root, at := filepath.Join(dir, "root"), filepath.Join(dir, "at")
				if err := os.Mkdir(root, 0o755); err != nil {
					b.Fatal(err)
				}

				var minimum time.Duration
				for b.Loop() {
					began := time.Now()
					clones, closeClones := make()
					var err error
					if n == 1 {
						err = MoveMount(clones[0], root)
					} else {
						err = OverlayClones(clones, "", root, at, unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV)
					}
					if took := time.Since(began); minimum == 0 || took < minimum {
						minimum = took
					}

					b.StopTimer()
					closeClones()
					if err == nil {
						err = unix.Unmount(root, 0)
					}
					if err != nil {
						b.Fatal(err)
					}

					b.StartTimer()
				}

				b.ReportMetric(float64(minimum.Microseconds()), "min-us")
			})
		}
	}
}
