package runtime

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/rootfs"
	"github.com/brig-sandbox/brig/rootfs/archive"
	"github.com/brig-sandbox/brig/rootfs/archive/archivetest"
)

// addLayer stores a layer and returns its digest.
func addLayer(t *testing.T, s *rootfs.Store, text []byte) string {
	t.Helper()
	sum := sha256.Sum256(text)
	l, err := s.ImportLayer(t.Context(), bytes.NewReader(text), "sha256:"+hex.EncodeToString(sum[:]), archive.Bounds{})
	if err != nil {
		t.Fatal(err)
	}
	return l.Digest
}

// layeredStore makes a store with an image of four layers: tiny, one that adds and removes, one more,
// and one with a whiteout in a directory that no other layer has, and with directories without members.
func layeredStore(t *testing.T, dir string) *rootfs.Store {
	t.Helper()
	tiny, err := tinyStore(t).Lookup("tiny")
	check(t, err)
	base, err := exec.Command("tar", "-C", tiny.Path, "-c", ".").Output()
	check(t, err)
	s, err := rootfs.Open(filepath.Join(dir, "store"))
	check(t, err)
	secret := archivetest.File("root/.tool", "tool\n")
	secret.Mode = 0o600
	home := archivetest.Dir("root")
	home.Mode = 0o700
	implied := archivetest.Members{archivetest.Dir("only"), archivetest.File("only/a", "a\n"), archivetest.File("only/.wh.b", "")}
	for i := range 400 { // far more directories than members
		implied = append(implied, archivetest.File(fmt.Sprintf("implied/%d/b/c/d/e", i), ""))
	}

	layers := []string{
		addLayer(t, s, base),
		addLayer(t, s, archivetest.Tar(t, archivetest.Dir("srv"), archivetest.File("srv/low", "low\n"),
			archivetest.File("srv/gone", "gone\n"), home, secret)),
		addLayer(t, s, archivetest.Tar(t, archivetest.Dir("srv"), archivetest.File("srv/.wh.gone", ""), archivetest.File("srv/top", "top\n"),
			&tar.Header{Typeflag: tar.TypeDir, Name: "opt", Mode: 0o755}, archivetest.File("opt/.wh..wh..opq", ""))),
		addLayer(t, s, archivetest.Tar(t, implied...)),
	}

	_, err = s.AddImage(t.Context(), rootfs.Spec{Layers: layers}, "layered")
	check(t, err)
	_, err = s.AddImage(t.Context(), rootfs.Spec{Layers: layers[:2], Config: rootfs.Config{
		Env: []string{"GREETING=hi", "PATH=/srv:/bin"}, Entrypoint: []string{"sh", "-c"}, Cmd: []string{"pwd; echo $GREETING $HOME $PATH"},
		WorkingDir: "/srv", User: "app",
	}}, "lower")
	check(t, err)
	_, err = s.AddImage(t.Context(), rootfs.Spec{Layers: layers, Config: rootfs.Config{WorkingDir: "/tmp/build"}}, "hidden")
	check(t, err)
	older, err := s.AddImage(t.Context(), rootfs.Spec{Layers: layers, Config: rootfs.Config{User: "x"}}, "older")
	check(t, err)
	check(t, os.RemoveAll(filepath.Join(older.Path, "only"))) // as stored by a brig that showed whiteouts
	return s
}

// The root of a cell of an image of layers is all of them together, in every mode: read-only, with
// owners of the slot's range, and writable only as a throw-away layer. The files of shared layers are
// held in memory once. When a removed image's cells are gone nothing of its layers is left.
func TestCellsOfImagesOfLayers(t *testing.T) {
	dir, second := privately(t)
	if !second {
		return
	}

	s := layeredStore(t, dir)
	h, err := Open(Config{RunDir: filepath.Join(dir, "run"), Slots: 1, Images: s, ImageMemory: 64 * api.MiB,
		Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	check(t, err)
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})

	run := func(image string, mode api.Mode, writable bool, script string) string {
		t.Helper()
		res, err := h.runner.Run(t.Context(),
			api.Run{Image: image, Argv: []string{"/bin/sh", "-c", script}, Mode: mode, WritableRoot: writable,
				Limits: api.Limits{Wall: api.Duration(20 * time.Second)}}, api.Streams{}, api.Caller{})
		if err != nil || res.Verdict != api.OK {
			t.Errorf("%s, %s, writable %v: %s, %v: %s", image, mode, writable, res.Verdict, err, res.Stderr)
		}
		return string(res.Stdout)
	}

	const look = `ls -l /only >/dev/null || echo whiteouts show; cd /srv; ls; cat low top /root/.tool; stat -c %u low; ls /opt; echo x 2>/dev/null >/srv/new && echo wrote; cat new 2>/dev/null; grep -c sandboxuser /etc/passwd; :`
	const want = "low\ntop\nlow\ntop\ntool\n0\n1\n"
	for _, mode := range []api.Mode{api.Strict, api.Fresh, api.Exclusive} {
		if got := run("layered", mode, false, look); got != want {
			t.Errorf("%s: %q; want %q", mode, got, want)
		}
		wantWritten := strings.Replace(want, "0\n1\n", "1000\nwrote\nx\n1\n", 1)
		for range 2 { // nothing of the first run's file is left
			if got := run("layered", mode, true, look); got != wantWritten {
				t.Errorf("%s, writable: %q; want %q", mode, got, wantWritten)
			}
		}
	}

	if got := run("lower", api.Strict, false, "pwd; cat gone; ./nothing 2>/dev/null; :"); got != "/srv\ngone\n" {
		t.Errorf("the image without the third layer: %q", got)
	}

	for _, mode := range []api.Mode{api.Strict, api.Exclusive} { // IMG-54
		if got := run("hidden", mode, false, "pwd"); got != "/box\n" {
			t.Errorf("%s: an image whose working directory no cell shows starts in %q; want /box", mode, got)
		}
	}

	if got := run("older", api.Exclusive, false, "ls /only; ls /implied/399/b/c/d"); got != "a\ne\n" { // IMG-50, IMG-51
		t.Errorf("a copy of an overlay that shows whiteouts has %q", got)
	}

	for _, tt := range []struct {
		run  api.Run
		want string
	}{
		{api.Run{Image: "lower"}, "/srv\nhi /box /srv:/bin\n"},
		{api.Run{Image: "lower", Env: map[string]string{"GREETING": "ho", "HOME": "/root"}}, "/srv\nho /root /srv:/bin\n"},
		{api.Run{Image: "lower", Argv: []string{"/bin/sh", "-c", "ls"}}, "gone\nlow\n"},
	} {
		if res, err := h.runner.Run(t.Context(), tt.run, api.Streams{}, api.Caller{}); err != nil || string(res.Stdout) != tt.want {
			t.Errorf("%+v: %q, %v; want %q", tt.run, res.Stdout, err, tt.want)
		}
	}

	if _, err := h.runner.Run(t.Context(), api.Run{Image: "layered"}, api.Streams{}, api.Caller{}); !api.HasCode(err, api.CodeBadRequest) {
		t.Errorf("an image without a command: %v; want bad-request", err)
	}

	_, wanted := h.factory.Images.Pages.Stats()
	img, err := s.Lookup("layered")
	check(t, err)
	if maximum := api.Size(img.Size) + api.Size(img.Entries)*4*api.KiB; wanted == 0 || wanted > maximum {
		t.Errorf("%v is held for two images with the same layers; want at most %v", wanted, maximum)
	}

	check(t, s.Remove("layered"))
	for _, name := range []string{"lower", "hidden", "older"} {
		check(t, s.Remove(name))
	}

	h.ImagesRemoved()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		work, err := filepath.Glob(filepath.Join(s.Dir(), "work", "*"))
		layers, lerr := s.Layers()
		if len(work) == 0 && len(layers) == 0 && err == nil && lerr == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%v and %v are left, %v, %v", work, layers, err, lerr)
		}
	}
}
