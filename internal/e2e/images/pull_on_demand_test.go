package images

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
	"github.com/brig-sandbox/brig/internal/testenv"
)

// A language whose manifest names an image of a registry is pulled at its first use by root, whichever
// command uses it: by the same function as images with a recipe are built. --no-build leaves it to the
// agent to refuse.
func TestImagesArePulledOnDemand(t *testing.T) {
	testenv.NeedRoot(t)
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()

	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := gone.Close(); err != nil { // nobody answers at its address
		t.Fatal(err)
	}

	at := strings.TrimPrefix(server.URL, "http://") + "/org/sh:1"
	nowhere := gone.Addr().String() + "/org/sh:1"
	dir := harness.PublicDir(t, "brig-demand-")
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}

	manifest := "name: %s\nimage: e2e-%s\nimage_from: %s\nextensions: [%s]\nsource_file: main.sh\nrun: [/bin/sh, '{source}']\n"
	write("languages/pulled.yaml", fmt.Sprintf(manifest, "pulled", "pulled", at, "pulled"))
	write("languages/lost.yaml", fmt.Sprintf(manifest, "lost", "lost", nowhere, "lost"))
	write("languages/wrong.yaml", fmt.Sprintf(manifest, "wrong", "wrong", strings.TrimSuffix(at, "1")+"2", "wrong"))

	a := harness.StartAgentWith(t, harness.PublicDir(t, "brig-pulls-"), "--slots", "1", "--group", "daemon",
		"--languages", filepath.Join(dir, "languages"))
	if got := push(t, server, "org/sh:1", layersOf(t, v1.Config{}, storedTar(t, a, "tiny"))); got != at {
		t.Fatalf("the image is %s; want %s", got, at)
	}

	source := write("one.pulled", "read x; echo $x\n")
	tiny := write("other.sh", "read x; echo $x\n")
	write("tests/1.in", "5\n")
	write("tests/1.out", "5\n")
	tests := filepath.Join(dir, "tests")
	jobs := write("jobs.jsonl", `{"id":"a","language":"pulled","source":"read x; echo $x","stdin":"5\n"}`+"\n")
	checker := write("checker.pulled", "exit 42\n")

	cache := "BRIG_CACHE=" + filepath.Join(dir, "cache")
	for _, tt := range []struct {
		name    string
		command []string
		args    []string
	}{
		{"run", []string{"run"}, []string{source}},
		{"run with tests", []string{"run"}, []string{"--tests", tests, source}},
		{"run with a checker", []string{"run"},
			[]string{"--tests", tests, "--check", checker, "--check-protocol", "kattis", "--rootfs", "tiny", "-l", "pulled", tiny}},
		{"check", []string{"check"}, []string{source}},
		{"grade", []string{"grade"}, []string{tests, source}},
		{"batch", []string{"batch"}, []string{jobs, "-o", filepath.Join(dir, "out.jsonl")}},
		{"session create", []string{"session", "create"}, []string{"--language", "pulled"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out, _ := a.Brig(t, []string{cache}, slices.Concat(tt.command, []string{"--no-build"}, tt.args)...)
			if stored := stores(t, a, "e2e-pulled"); stored || strings.Contains(out, "pulling "+at) {
				t.Errorf("--no-build: stored %v\n%s", stored, out)
			}
			if err := os.Remove(filepath.Join(dir, "out.jsonl")); err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Fatal(err)
			}

			out, err := a.Brig(t, []string{cache}, slices.Concat(tt.command, tt.args)...)
			if !stores(t, a, "e2e-pulled") {
				t.Fatalf("not stored: %v\n%s", err, out)
			}

			for _, want := range []string{
				"brig: the image of pulled is not stored yet: pulling " + at + " now, which happens only once\n",
				"brig: " + at + " has 1 layers of ",
			} {
				if strings.Count(out, want) != 1 {
					t.Errorf("not once: %q\n%s", want, out)
				}
			}

			if err != nil {
				t.Errorf("%v\n%s", err, out)
			}

			endSessions(t, a)
			if err := a.RemoveImage(t.Context(), "e2e-pulled"); err != nil {
				t.Error(err)
			}
		})
	}

	t.Run("serve", func(t *testing.T) {
		s := harness.LaunchServe(t, "--data-dir", filepath.Join(dir, "gateway"), "--socket", a.Socket, "--images", "pulled")
		defer s.Stop()
		if !stores(t, a, "e2e-pulled") {
			t.Error("not stored")
		}
	})

	for _, tt := range []struct{ name, reference, cause string }{
		{"lost", nowhere, "connection refused"},
		{"wrong", strings.TrimSuffix(at, "1") + "2", "no such image"},
	} {
		out, err := a.Brig(t, []string{cache}, "run", "--json", write("x."+tt.name, "echo\n"))
		if err == nil || !strings.Contains(out, `"code": "unknown-image"`) {
			t.Errorf("%s: %v\n%s", tt.name, err, out)
		}
		for _, want := range []string{tt.reference, tt.cause, "another way: import it with sudo brig rootfs import " +
			"FILE --name e2e-" + tt.name} {
			if !strings.Contains(out, want) {
				t.Errorf("%s: the error lacks %q\n%s", tt.name, want, out)
			}
		}
		if stores(t, a, "e2e-"+tt.name) {
			t.Errorf("%s is stored", tt.name)
		}
	}

	// The agent pulls nothing: a caller without root gets both commands.
	e := a.Refused(t, api.Run{Language: "lost", Source: api.Bytes("echo")}, api.CodeNoImage)
	if want := "pull it with sudo brig rootfs pull " + nowhere +
		" --name e2e-lost, or import it with sudo brig rootfs import FILE --name e2e-lost"; !strings.HasSuffix(e.Message, want) {
		t.Errorf("%s; want %s", e.Message, want)
	}
}

// stores reports whether an image of this name is stored.
func stores(t *testing.T, a *harness.Agent, name string) bool {
	t.Helper()
	all, err := a.Images(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	for _, image := range all {
		for _, n := range image.Names {
			if n == name {
				return true
			}
		}
	}

	return false
}

// endSessions removes all sessions, which hold their images.
func endSessions(t *testing.T, a *harness.Agent) {
	t.Helper()
	all, err := a.Sessions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		if err := a.DeleteSession(t.Context(), s.ID); err != nil {
			t.Error(err)
		}
	}
}
