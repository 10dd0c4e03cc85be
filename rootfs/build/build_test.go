package build

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/brig-sandbox/brig/rootfs"
)

// tiny builds the tiny image.
func tiny(t testing.TB) []byte {
	t.Helper()
	if _, err := exec.LookPath("busybox"); err != nil {
		if os.Getenv("BRIG_TEST_MUST") == "1" {
			t.Fatal("needs busybox-static")
		}
		t.Skip("needs busybox-static")
	}

	r, err := FindRecipe("tiny")
	if err != nil {
		t.Fatal(err)
	}

	var buf bytes.Buffer
	if err := Image(t.Context(), r, &buf, Options{}); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func TestTinyImageIsReproducibleAndRuns(t *testing.T) {
	s := newStore(t)
	first, second := tiny(t), tiny(t)
	if !bytes.Equal(first, second) {
		t.Errorf("two builds differ: %s and %s", digestOf(first), digestOf(second))
	}

	img, err := s.Import(t.Context(), bytes.NewReader(first), rootfs.Options{Name: "tiny"})
	if err != nil {
		t.Fatal(err)
	}

	cmd := exec.Command("/bin/sh", "-c", "id")
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: img.Path, Credential: &syscall.Credential{Uid: 1000, Gid: 1000}}
	out, err := cmd.CombinedOutput()

	// Unlike coreutils, busybox prints no groups= for a process without supplementary groups.
	want := "uid=1000(sandboxuser) gid=1000(sandboxuser)"
	if err != nil || strings.TrimSpace(string(out)) != want {
		t.Errorf("id says %q, %v; want %q", out, err, want)
	}
	if target, err := os.Readlink(filepath.Join(img.Path, "sandbox")); err != nil || target != "/box" {
		t.Errorf("/sandbox leads to %q, %v; want /box", target, err)
	}
}
