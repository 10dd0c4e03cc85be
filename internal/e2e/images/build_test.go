package images

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/internal/e2e/harness"
	"github.com/brig-sandbox/brig/internal/flock"
)

// When many programs of a language start at once and its image does not exist yet, one of them
// builds the image.
func TestImagesAreBuiltOnce(t *testing.T) {
	dir := t.TempDir()
	manifest := "name: small\nimage: tiny\nsource_file: main.sh\nrun: [/bin/sh, '{source}']\nextensions: [small]\n"
	if err := os.WriteFile(filepath.Join(dir, "small.yaml"), []byte(manifest), 0o644); err != nil {
		t.Fatal(err)
	}

	source := filepath.Join(dir, "hello.small")
	if err := os.WriteFile(source, []byte("echo hello\n"), 0o644); err != nil {
		t.Fatal(err)
	}

	type said struct {
		err      error
		out, log bytes.Buffer
	}

	first := func(t *testing.T, n int, meanwhile func(*harness.Agent)) []*said {
		t.Helper()
		a := harness.StartAgentWith(t, harness.PublicDir(t, "brig-data-"), "--languages", dir)
		if err := a.RemoveImage(t.Context(), "tiny"); err != nil {
			t.Fatal(err)
		}

		all := make([]*said, n)
		var cmds []*exec.Cmd
		for i := range all {
			all[i] = new(said)
			cmd := exec.Command(harness.Binary(t, "brig"), "run", "--wait", "1m", "--socket", a.Socket, source)
			cmd.Stdout, cmd.Stderr = &all[i].out, &all[i].log
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			cmds = append(cmds, cmd)
		}

		meanwhile(a)
		for i, cmd := range cmds {
			if all[i].err = cmd.Wait(); all[i].err != nil || all[i].out.String() != "hello\n" {
				t.Errorf("%v: %q\n%s", all[i].err, &all[i].out, &all[i].log)
			}
		}

		return all
	}

	const builds = "building it now"
	t.Run("by one of many", func(t *testing.T) {
		built := 0
		for _, one := range first(t, 4, func(*harness.Agent) {}) {
			built += strings.Count(one.log.String(), builds)
		}
		if built != 1 {
			t.Errorf("it was built %d times", built)
		}
	})

	t.Run("by another", func(t *testing.T) {
		lock, err := os.OpenFile("/var/cache/brig/locks/tiny.lock", os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer lock.Close()

		if err := flock.Try(lock); err != nil {
			t.Fatal(err)
		}

		tarball := harness.ImageArchive(t.Context(), t, "tiny")
		for _, one := range first(t, 2, func(a *harness.Agent) {
			if _, err := a.Import(t.Context(), bytes.NewReader(tarball), "tiny", ""); err != nil {
				t.Error(err)
			}
			if err := lock.Close(); err != nil {
				t.Error(err)
			}
		}) {
			if text := one.log.String(); strings.Contains(text, builds) ||
				text != "" && !strings.Contains(text, "another brig is building image tiny: waiting for it") {
				t.Errorf("one that waited says %q", text)
			}
		}
	})
}
