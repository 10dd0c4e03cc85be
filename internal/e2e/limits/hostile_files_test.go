package limits

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/corpus"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
	"github.com/brig-sandbox/brig/internal/testenv"
)

// OUT-09: a program's stdin is a pipe of brig's, whatever the caller's stdin is: a file or device
// that brig was started with keeps its owner and mode. libcontainer chowns the stdin that it gets
// to the container's user; the control does the same.
func TestHostileStdinKeepsItsOwner(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1")
	dir := harness.PublicDir(t, "stdin-")
	file := harness.NewBystander(t, dir, "file")
	zero := harness.Bystander{Path: filepath.Join(dir, "zero")}
	if err := unix.Mknod(zero.Path, unix.S_IFCHR|0o600, int(unix.Mkdev(1, 5))); err != nil {
		t.Fatal(err)
	}

	zero = zero.Note(t)
	brig := harness.Binary(t, "brig")
	private := `set -e; mount -t tmpfs none /run; mount -t tmpfs none /var/lib; mkdir /var/lib/brig; mount --bind "$0" /var/lib/brig; exec "$@"`
	for _, from := range []harness.Bystander{file, zero} {
		for name, under := range map[string][]string{
			"an agent": nil,
			"an agent of ours": {testenv.NeedTool(t, "unshare", "util-linux"), "--mount", "--propagation", "private", "sh",
				"-c", private, harness.DataDir(t)},
		} {
			args := append(slices.Clone(under), brig, "run", "--rootfs", "tiny", "--", "sh", "-c",
				"head -c 6 | wc -c; test -p /dev/stdin && echo pipe")
			cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
			in, err := os.Open(from.Path)
			if err != nil {
				t.Fatal(err)
			}

			cmd.Stdin, cmd.Env = in, append(os.Environ(), "BRIG_SOCKET="+a.Socket)
			if under != nil {
				cmd.Env = append(os.Environ(), "BRIG_SOCKET=")
			}

			out, err := cmd.CombinedOutput()
			if err := errors.Join(err, in.Close()); err != nil || string(out) != "6\npipe\n" {
				t.Errorf("%s, stdin from %s: %v, %q", name, from.Path, err, out)
			}
			if from.Touched(t) {
				t.Errorf("%s has changed %s", name, from.Path)
			}
		}

		fd, err := unix.Open(from.Path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(unix.Fchown(fd, 100_000, 100_000), unix.Close(fd)); err != nil {
			t.Fatal(err)
		}
		if !from.Touched(t) {
			t.Errorf("a changed owner of %s is not seen: the test proves nothing", from.Path)
		}
	}
}

// FIO-14, FIO-15: links that a program leaves in place of its outputs make brig neither change nor
// read their targets. What is written to the output directory are regular files with nothing but
// the program's bytes, and brig follows no link in that directory either. Controls: code that uses
// paths does all of it.
func TestHostileOutputsTouchNothing(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1")
	dir := harness.PublicDir(t, "outputs-")
	file := harness.NewBystander(t, dir, "file")
	folder := filepath.Join(dir, "folder")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}

	inside := harness.NewBystander(t, folder, "inside")
	fine := func() {
		t.Helper()
		for _, b := range []harness.Bystander{file, inside, harness.Bystander{Path: folder}.Note(t)} {
			if b.Touched(t) {
				t.Errorf("%s has changed", b.Path)
			}
		}
		if left, err := os.ReadDir(folder); err != nil || len(left) != 1 {
			t.Errorf("in %s: %v, %v", folder, left, err)
		}
	}

	links := fmt.Sprintf("ln -s %[1]s out; ln -s %[2]s dir; ln -s / root; mkdir -p d/e; ln -s %[1]s d/e/l; ln -s . self; ", file.Path, folder)
	brig := func(out string, args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), harness.Binary(t, "brig"), append([]string{"run", "--out", out}, args...)...)
		cmd.Env = append(os.Environ(), "BRIG_SOCKET="+a.Socket)
		said, err := cmd.CombinedOutput()
		return string(said), err
	}

	out := filepath.Join(dir, "out")
	said, err := brig(out, "--rootfs", "tiny", "--", "sh", "-c", links+"echo fine > fine; ln fine d/second; echo x > "+
		"closed; chmod 0 closed")
	if err != nil || !strings.Contains(said, "symbolic link") {
		t.Errorf("brig run: %v, %q; want the links named", err, said)
	}

	var got []string
	err = filepath.WalkDir(out, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}

		var st unix.Stat_t
		if err := unix.Lstat(path, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG || st.Nlink != 1 {
			t.Errorf("%s: mode %o, %d links, %v; want a regular file of its own", path, st.Mode, st.Nlink, err)
		}

		text, err := os.ReadFile(path)
		if bytes.Contains(text, []byte(corpus.Secret)) {
			t.Errorf("%s holds the host's canary", path)
		}

		rel, _ := filepath.Rel(out, path)
		got = append(got, rel)
		return err
	})
	if want := []string{"closed", "d/second", "fine"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("came back: %q, %v; want %q", got, err, want)
	}

	fine()

	// Again, to a directory in which somebody has placed links.
	for name, to := range map[string]string{"fine": file.Path, "d": folder} {
		if err := errors.Join(os.RemoveAll(filepath.Join(out, name)), os.Symlink(to, filepath.Join(out, name))); err != nil {
			t.Fatal(err)
		}
	}

	if said, err := brig(out, "--force", "--rootfs", "tiny", "--", "sh", "-c", "echo new > fine"); err != nil {
		t.Errorf("over a link: %v, %q", err, said)
	}
	if text, err := os.ReadFile(filepath.Join(out, "fine")); err != nil || string(text) != "new\n" {
		t.Errorf("the link was not replaced: %q, %v", text, err)
	}
	if said, err := brig(out, "--force", "--rootfs", "tiny", "--", "sh", "-c", "mkdir d; echo new > d/new; echo new "+
		"> d/inside"); err == nil {
		t.Errorf("through a link for a directory: it went well, %q", said)
	}

	fine()

	link := filepath.Join(dir, "link")
	if err := os.Symlink(file.Path, link); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(link); err != nil || string(text) != corpus.Secret {
		t.Errorf("by path the link leads to %q, %v: the test proves nothing", text, err)
	}
	if err := os.Chown(link, 1000, 1000); err != nil || !file.Touched(t) {
		t.Errorf("a change by path is not seen, %v: the test proves nothing", err)
	}
}

// FIO-11: where the image, or an earlier run in the same cell, had a link, an input is placed as a
// separate file. The control: the image's link is there, and a program that writes through one
// changes its target.
func TestHostileInputsOverLinks(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1")
	var image bytes.Buffer
	w := tar.NewWriter(&image)
	for _, h := range []*tar.Header{
		{Name: "box/in.txt", Typeflag: tar.TypeSymlink, Linkname: "/target"},
		{Name: "box/d", Typeflag: tar.TypeSymlink, Linkname: "/etc"},
		{Name: "target", Typeflag: tar.TypeReg, Mode: 0o644},
	} {
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
	}

	if err := w.Close(); err != nil {
		t.Fatal(err)
	}

	name := fmt.Sprintf("links-%d", os.Getpid())
	img, err := a.Import(t.Context(), &image, name, "")
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		if err := a.RemoveImage(context.Background(), name); err != nil {
			t.Errorf("remove image: %v", err)
		}
	})

	root := filepath.Join(harness.DataDir(t), "images", "images", strings.TrimPrefix(img.Digest, "sha256:"), "root")
	if to, err := os.Readlink(filepath.Join(root, "box/in.txt")); err != nil || to != "/target" {
		t.Fatalf("the image's link leads to %q, %v: the test proves nothing", to, err)
	}

	show := harness.CompileC(t, "show", `#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
int main(int c, char **v) { struct stat s;
  for (int i = 1; i < c; i++) { if (lstat(v[i], &s)) { perror(v[i]); return 1; } printf("%s %s %ld\n", v[i], S_ISREG(s.st_mode) ? "file" : S_ISDIR(s.st_mode) ? "dir" : "other", S_ISREG(s.st_mode) ? (long)s.st_size : 0); }
  unlink("in.txt"); symlink("/tmp/t", "in.txt"); unlink("d/in.txt"); rmdir("d"); symlink("/tmp", "d");
  FILE *f = fopen("in.txt", "w"); if (!f) return 2; fputs("through", f); fclose(f);
  return lstat("/tmp/t", &s) || s.st_size != 7; }`)

	harness.Both(t, func(t *testing.T, mode api.Mode) {
		for range 3 {
			r := harness.Program(show, "in.txt", "d", "d/in.txt", "/target")
			r.Image, r.Mode = name, mode
			r.Files = append(r.Files, api.File{Name: "in.txt", Content: api.Bytes("input")},
				api.File{Name: "d/in.txt", Content: api.Bytes("more input")})
			res := a.MustRun(t, r)
			harness.WantVerdict(t, res, api.OK)
			if want := "in.txt file 5\nd dir 0\nd/in.txt file 10\n/target file 0\n"; string(res.Stdout) != want {
				t.Errorf("inputs lie as\n%swant\n%s", res.Stdout, want)
			}
		}
	})
}
