package sessions

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
	"github.com/brig-sandbox/brig/internal/testenv"
)

// A full disk of the host neither damages a volume, whose space was reserved, nor lets a volume be
// created half.
func TestVolumeOnAFullHost(t *testing.T) {
	testenv.NeedRoot(t)
	t.Run("tmpfs", func(t *testing.T) {
		onAFullHost(t, func(dir string) error { return unix.Mount("small", dir, "tmpfs", 0, "size=48m,mode=0711") })
	})

	for _, kind := range []string{"xfs", "btrfs"} {
		t.Run(kind, func(t *testing.T) {
			mkfs, err := exec.LookPath("mkfs." + kind)
			if err != nil {
				t.Skip(err) // no part of brig needs it; the tmpfs case runs everywhere
			}

			image := filepath.Join(harness.PublicDir(t, "image-"), "image")
			onAFullHost(t, func(dir string) error {
				out, err := exec.Command("sh", "-c", `truncate -s 400M "$1" && "$2" -q "$1" && mount -o loop "$1" "$3" && chmod 711 "$3"`, "sh", image,
					mkfs, dir).CombinedOutput()
				if err != nil {
					return fmt.Errorf("%w: %s", err, out)
				}
				return nil
			})
		})
	}
}

func onAFullHost(t *testing.T, mount func(dir string) error) {
	dir := harness.PublicDir(t, "small-")
	if err := mount(dir); err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})

	a := harness.VolumeAgent(t, "--volumes", dir)
	s := volumeSession(t, a, "v", smallest)
	fill, err := os.Create(filepath.Join(dir, "fill"))
	if err != nil {
		t.Fatal(err)
	}

	for chunk := make([]byte, 1<<20); err == nil; {
		_, err = fill.Write(chunk)
	}

	if fill.Close(); !errors.Is(err, unix.ENOSPC) {
		t.Fatal(err)
	}

	refusedVolumeSession(t, a, "w", smallest, api.CodeHostExhausted)
	res := a.Shell(t, s.ID, "cat /dev/zero 2>&1 >/workspace/f; sync && ls -l /workspace/f | awk '{print ($5 > "+
		"8*1024*1024)}'; sha256sum </workspace/f | cut -c1-8 >/workspace/../box/sum; cat /box/sum")
	if !strings.Contains(string(res.Stdout), "No space left") || !strings.Contains(string(res.Stdout), "\n1\n") {
		t.Errorf("filling the volume on a full host: %q %q", res.Stdout, res.Stderr)
	}

	sum := string(a.Shell(t, s.ID, "cat /box/sum").Stdout)
	endSession(t, a, s.ID)
	s = volumeSession(t, a, "v", nil)
	a.WantOutput(t, s.ID, "sha256sum </workspace/f | cut -c1-8", sum)
	endSession(t, a, s.ID)
	left, err := filepath.Glob(filepath.Join(dir, "0", "*"))
	hidden, herr := filepath.Glob(filepath.Join(dir, "0", ".*"))
	if err = errors.Join(err, herr); err != nil || len(left) != 1 || len(hidden) != 0 {
		t.Errorf("in the directory: %q, %q, %v", left, hidden, err)
	}
	if out, err := exec.Command("e2fsck", "-fn", filepath.Join(dir, "0", "v.ext4")).CombinedOutput(); err != nil {
		t.Errorf("e2fsck: %v\n%s", err, out)
	}
}
