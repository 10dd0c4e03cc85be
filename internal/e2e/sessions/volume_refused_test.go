package sessions

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
	"github.com/brig-sandbox/brig/internal/testenv"
)

// bareDev is a /dev as a container may have it: no loop devices, and no way to create one.
const bareDev = `mount -t tmpfs -o mode=755 tmpfs /dev
mknod -m 666 /dev/null c 1 3; mknod -m 666 /dev/zero c 1 5; mknod -m 666 /dev/full c 1 7
mknod -m 666 /dev/random c 1 8; mknod -m 666 /dev/urandom c 1 9; ln -s /proc/self/fd /dev/fd; `

// A host that lacks what a volume needs refuses a request for one, with what is missing and how to
// get it. Nothing is left half created, and everything else works.
// TestVolumesNeedExt4 in runtime covers a kernel without ext4.
func TestVolumesOnAHostWithoutSupport(t *testing.T) {
	testenv.NeedRoot(t)
	unshare := testenv.NeedTool(t, "unshare", "util-linux")
	testenv.NeedTool(t, "mkfs.ext4", "e2fsprogs")

	for _, tt := range []struct {
		name, hide string
		says       []string
		doctor     string // what doctor reports; empty: it does not check that
	}{
		{"no mkfs.ext4", `for f in /usr/sbin/mkfs.ext4 /sbin/mkfs.ext4 $(command -v mkfs.ext4); do mount --bind /dev/null "$(readlink -f "$f")"; done`,
			[]string{"mkfs.ext4 is not installed", "install the package e2fsprogs"}, "mkfs.ext4 is not installed"},
		{"no loop driver", bareDev, []string{"volumes need loop devices", "modprobe loop", "(Linux "}, "modprobe loop"},
		{"no node for the loop device", bareDev + "mknod -m 600 /dev/loop-control c 10 237",
			[]string{"volumes need a node for /dev/loop", "mknod"}, ""},
		{"no way to reserve space", `mount -t ramfs ramfs "$VOLUMES"`,
			[]string{"cannot reserve space", "keep volumes on ext4, xfs or btrfs", "--volumes"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := harness.PublicDir(t, "brig-e2e-")
			volumes := filepath.Join(dir, "volumes")
			if err := os.Mkdir(volumes, 0o700); err != nil {
				t.Fatal(err)
			}

			testenv.CleanHost(t)
			under := []string{unshare, "--mount", "--propagation", "private", "env", "VOLUMES=" + volumes, "sh", "-ec",
				tt.hide + "\n" + `exec "$@"`, "sh"}
			a := harness.LaunchUnder(t, dir, harness.DataDir(t), under, nil)
			t.Cleanup(a.Stop)
			e := refusedVolumeSession(t, a, "v", smallest, api.CodeUnsupported)
			for _, word := range tt.says {
				if !strings.Contains(e.Message, word) {
					t.Errorf("refused with %q; want %q in it", e.Message, word)
				}
			}

			if all, err := a.Volumes(t.Context()); err != nil || len(all) != 0 {
				t.Errorf("volumes %+v, %v", all, err)
			}
			if left, _ := filepath.Glob(filepath.Join(volumes, "*", ".new-*")); len(left) != 0 {
				t.Errorf("half made: %q", left)
			}

			noLoops(t, a)
			plain := a.NewSession(t, nil)
			a.WantOutput(t, plain.ID, "echo works", "works\n")
			endSession(t, a, plain.ID)
			if tt.doctor == "" {
				return
			}

			doctor := exec.CommandContext(t.Context(), under[0], append(under[1:], harness.Binary(t, "brig"), "doctor")...)
			out, _ := doctor.CombinedOutput() // its exit code covers all of its checks
			if !strings.Contains(string(out), tt.doctor) {
				t.Errorf("brig doctor does not say %q:\n%s", tt.doctor, out)
			}
		})
	}
}

// A file in the place of a volume that is not a volume is refused with its name, quickly, and
// affects no other volume.
func TestFileInPlaceOfAVolume(t *testing.T) {
	a := harness.VolumeAgent(t)
	s := volumeSession(t, a, "v", smallest)
	a.WantOutput(t, s.ID, "head -c 3000000 /dev/zero >/workspace/f", "")
	endSession(t, a, s.ID)
	at := filepath.Join(a.Dir, "volumes", "0")
	good, err := os.ReadFile(filepath.Join(at, "v.ext4"))
	if err != nil {
		t.Fatal(err)
	}

	path := func(name string) string { return filepath.Join(at, name+".ext4") }
	canary := harness.NewBystander(t, harness.PublicDir(t, "canary-"), "file")
	for _, err := range []error{
		os.WriteFile(path("short"), good[:1<<20], 0o600),
		os.WriteFile(path("shorter"), good[:100], 0o600),
		os.WriteFile(path("empty"), nil, 0o600),
		os.WriteFile(path("garbage"), bytes.Repeat([]byte("garbage!"), 2<<20), 0o600),
		os.WriteFile(path("zeros"), make([]byte, 16<<20), 0o600),
		os.WriteFile(path("torn"), append(make([]byte, 2048), good[2048:]...), 0o600),
		os.Symlink(canary.Path, path("link")),
		os.Symlink(path("v"), path("other")),
		os.Mkdir(path("dir"), 0o700),
		unix.Mkfifo(path("fifo"), 0o600),
		unix.Mknod(path("device"), unix.S_IFBLK|0o600, int(unix.Mkdev(7, 0))),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}

	for _, name := range []string{"short", "shorter", "empty", "garbage", "zeros", "torn", "link", "other", "dir", "fifo", "device"} {
		begun := time.Now()
		refusedVolumeSession(t, a, name, nil, api.CodeBadVolume)
		if took := time.Since(begun); took > harness.Slow(10*time.Second) {
			t.Errorf("%s: refused after %s", name, took)
		}
		noLoops(t, a)
	}

	for _, name := range []string{"short", "garbage"} {
		if err := a.DeleteVolume(t.Context(), name); err != nil {
			t.Errorf("remove %s: %v", name, err)
		}
	}

	if canary.Touched(t) {
		t.Error("the host's file has changed")
	}

	// Truncated, or replaced, while a session has it: only that session is affected.
	s = volumeSession(t, a, "v", nil)
	if err := os.Truncate(path("v"), 1<<20); err != nil {
		t.Fatal(err)
	}

	a.Shell(t, s.ID, "echo x >/workspace/g; sync; cat /workspace/f >/dev/null; :")
	a.WantOutput(t, s.ID, "echo on", "on\n")
	begun := time.Now()
	endSession(t, a, s.ID)
	if took := time.Since(begun); took > harness.Slow(20*time.Second) {
		t.Errorf("its end took %s", took)
	}

	refusedVolumeSession(t, a, "v", nil, api.CodeBadVolume)
	if err := os.WriteFile(path("v"), good, 0o600); err != nil {
		t.Fatal(err)
	}

	s = volumeSession(t, a, "v", nil)
	if err := errors.Join(os.Remove(path("v")), os.WriteFile(path("v"), good, 0o600)); err != nil {
		t.Fatal(err)
	}

	a.WantOutput(t, s.ID, "echo y >/workspace/h; sync; cat /workspace/h", "y\n")
	endSession(t, a, s.ID)
	s = volumeSession(t, a, "v", nil)
	a.WantOutput(t, s.ID, "ls /workspace", "f\n")
	endSession(t, a, s.ID)
	noLoops(t, a)
}
