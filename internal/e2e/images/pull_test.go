package images

import (
	"archive/tar"
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	saved "github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
	"github.com/brig-sandbox/brig/rootfs"
)

// tarOf makes an uncompressed layer.
func tarOf(t testing.TB, members ...*tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range members {
		one := *h
		text := one.Uname // carries the content
		one.Uname, one.Size = "", int64(len(text))
		if err := w.WriteHeader(&one); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, text); err != nil {
			t.Fatal(err)
		}
	}

	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func textFile(name, text string, mode int64) *tar.Header {
	return &tar.Header{Typeflag: tar.TypeReg, Name: name, Uname: text, Mode: mode}
}

// layersOf makes an image of the layers, compressed by gzip.
func layersOf(t testing.TB, config v1.Config, layers ...[]byte) v1.Image {
	t.Helper()
	img := empty.Image
	for _, text := range layers {
		l, err := saved.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text)), nil })
		if err != nil {
			t.Fatal(err)
		}
		if img, err = mutate.AppendLayers(img, l); err != nil {
			t.Fatal(err)
		}
	}

	file, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}

	file = file.DeepCopy()
	file.OS, file.Architecture, file.Config = "linux", runtime.GOARCH, config
	if img, err = mutate.ConfigFile(img, file); err != nil {
		t.Fatal(err)
	}
	return img
}

// storedTar is the tree of a stored image as a layer.
func storedTar(t testing.TB, a *harness.Agent, image string) []byte {
	t.Helper()
	img, err := rootfs.OpenReadOnly(filepath.Join(a.Data, "images")).Lookup(image)
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("tar", "-C", img.Path, "--exclude=./box", "--exclude=./workspace", "-c", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func push(t testing.TB, server *httptest.Server, what string, img v1.Image) string {
	t.Helper()
	full := strings.TrimPrefix(server.URL, "http://") + "/" + what
	ref, err := name.ParseReference(full)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(ref, img); err != nil {
		t.Fatal(err)
	}
	return full
}

// Images are pulled from a registry, and imported from what docker save and other tools write, by a
// process that is not root; images with a common layer store it once; and they run as they say.
func TestPullAndImportImagesOfLayers(t *testing.T) {
	a := harness.StartAgentWith(t, harness.PublicDir(t, "brig-pull-"), "--slots", "1")
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()

	base := storedTar(t, a, "tiny")
	app := tarOf(t, &tar.Header{Typeflag: tar.TypeDir, Name: "app", Mode: 0o700},
		textFile("app/greet", "#!/bin/sh\necho \"$GREETING from $(pwd) $*\"\n", 0o700), textFile("app/old", "old\n", 0o600))
	next := tarOf(t, &tar.Header{Typeflag: tar.TypeDir, Name: "app", Mode: 0o700}, textFile("app/.wh.old", "", 0),
		textFile("app/new", "new\n", 0o600))
	config := v1.Config{Env: []string{"PATH=/app:/bin", "GREETING=hello"}, Entrypoint: []string{"greet"}, Cmd: []string{"you"},
		WorkingDir: "/app", User: "app"}
	one, two := layersOf(t, config, base, app), layersOf(t, config, base, app, next)

	out, err := a.Brig(t, nil, "rootfs", "pull", push(t, server, "org/tool:1", one), "--name", "one")
	if err != nil || !strings.Contains(out, "2 layers, 2 of them new") || !strings.Contains(out, "uid 1000") {
		t.Fatalf("%v\n%s", err, out)
	}

	out, err = a.Brig(t, nil, "rootfs", "pull", push(t, server, "org/tool:2", two))
	if err != nil || !strings.Contains(out, "stored as tool:2: sha256:") || !strings.Contains(out, "3 layers, 1 of them new") {
		t.Fatalf("%v\n%s", err, out)
	}

	config.WorkingDir = "/tmp/build" // each run has a /tmp of its own
	out, err = a.Brig(t, nil, "rootfs", "pull", push(t, server, "org/tool:3", layersOf(t, config, base, app)))
	if err != nil || !strings.Contains(out, "names /tmp/build as its working directory") {
		t.Fatalf("%v\n%s", err, out)
	}
	if out, err := a.Brig(t, nil, "run", "--rootfs", "tool:3", "--", "pwd"); err != nil || out != "/box\n" {
		t.Errorf("a command starts in %q, %v", out, err)
	}
	if out, err := a.Brig(t, nil, "rootfs", "rm", "tool:3"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}

	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"run", "--rootfs", "one"}, "hello from /app you\n"},
		{[]string{"run", "--rootfs", "one", "--env", "GREETING=ho", "--", "greet", "me"}, "ho from /app me\n"},
		{[]string{"run", "--rootfs", "one", "--", "ls"}, "greet\nold\n"},
		{[]string{"run", "--rootfs", "tool:2", "--", "ls"}, "greet\nnew\n"},
		{[]string{"run", "--rootfs", "tool:2", "--mode", "exclusive", "--", "cat", "new"}, "new\n"},
		{[]string{"run", "--rootfs", "tool:2", "--writable-root", "--", "sh", "-c", "echo more >>new; cat new"}, "new\nmore\n"},
	} {
		if out, err := a.Brig(t, nil, tt.args...); err != nil || out != tt.want {
			t.Errorf("%v: %q, %v; want %q", tt.args, out, err, tt.want)
		}
	}

	if out, err := a.Brig(t, nil, "rootfs", "show", "tool:2"); err != nil || !strings.Contains(out, "/org/tool:2") ||
		!strings.Contains(out, "2 images") || !strings.Contains(out, "GREETING=hello") {
		t.Errorf("%v\n%s", err, out)
	}

	// The same image from files has the same layers, so nothing is new.
	dir := harness.PublicDir(t, "brig-layout-")
	if p, err := layout.Write(dir, empty.Index); err != nil || p.AppendImage(two) != nil {
		t.Fatal(err)
	}

	packed, archive := filepath.Join(t.TempDir(), "layout.tar"), filepath.Join(t.TempDir(), "saved.tar")
	if out, err := exec.Command("tar", "-C", dir, "-cf", packed, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := saved.WriteToFile(archive, name.MustParseReference("org/tool:2"), two); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("gzip", archive).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}

	for _, from := range []string{dir, packed, archive + ".gz"} {
		out, err := a.Brig(t, nil, "rootfs", "import", from, "--name", "again")
		if err != nil || !strings.Contains(out, "3 layers, 0 of them new") {
			t.Errorf("%s: %v\n%s", from, err, out)
		}
	}

	if err := exec.Command("chmod", "-R", "go=", dir).Run(); err != nil {
		t.Fatal(err)
	}
	if out, err := a.Brig(t, []string{"SUDO_UID="}, "rootfs", "import", dir, "--name", "again"); err == nil ||
		!strings.Contains(out, "uid 2000065536") {
		t.Errorf("a directory of root's alone is read as root: %v\n%s", err, out)
	}

	// A layer goes with its last image.
	for _, image := range []string{"one", "tool:2", "again"} {
		if out, err := a.Brig(t, nil, "rootfs", "rm", image); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	}

	if layers, err := a.Layers(t.Context()); err != nil || len(layers) != 0 {
		t.Errorf("%d layers are left, %v", len(layers), err)
	}
}

// A language's manifest runs in another image, in one of layers, too.
func TestALanguageInAnotherImage(t *testing.T) {
	a := harness.StartAgentWith(t, harness.DataDir(t), "--slots", "1")
	a.NeedPython(t)
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()

	module := tarOf(t, textFile("usr/lib/python3/dist-packages/mine.py", "answer = 42\n", 0o644))
	img := layersOf(t, v1.Config{Env: []string{"MINE=1"}, WorkingDir: "/usr"}, storedTar(t, a, "python"), module)
	if out, err := a.Brig(t, nil, "rootfs", "pull", push(t, server, "mine:1", img), "--name", "e2e-mine"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	defer a.Brig(t, nil, "rootfs", "rm", "e2e-mine") //nolint:errcheck // the next test does not depend on it

	source := filepath.Join(t.TempDir(), "x.py")
	if err := os.WriteFile(source, []byte("import mine, os; print(mine.answer, os.environ['MINE'], os.getcwd())"), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := a.Brig(t, nil, "run", "--rootfs", "e2e-mine", "-l", "python", source); err != nil || out != "42 1 /box\n" {
		t.Errorf("%q, %v", out, err)
	}
	if out, err := a.Brig(t, nil, "run", "--rootfs", "tiny", "-l", "java", source); err == nil || !strings.Contains(out, "image tiny has no") {
		t.Errorf("Java in an image without its compiler: %v\n%s", err, out)
	}
}

// A registry that wants credentials gets those of the user who runs brig: the process that reads it is
// not root, and cannot read root's files. Without them the error says what to do. An interrupted pull
// stores nothing under a name.
func TestPullWithRootsCredentials(t *testing.T) {
	a := harness.StartAgentWith(t, harness.PublicDir(t, "brig-pull-"), "--slots", "1")
	next := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	open := true
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, ok := r.BasicAuth(); !open && (!ok || user != "u" || password != "p") {
			w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	}))

	defer server.Close()

	reference := push(t, server, "private:1", layersOf(t, v1.Config{}, tarOf(t, textFile("etc/x", "x", 0o644))))
	open = false
	config := t.TempDir()
	if err := os.Chmod(config, 0o700); err != nil {
		t.Fatal(err)
	}

	text := fmt.Sprintf(`{"auths":{%q:{"auth":"%s"}}}`, strings.TrimPrefix(server.URL, "http://"),
		base64.StdEncoding.EncodeToString([]byte("u:p")))
	if err := os.WriteFile(filepath.Join(config, "config.json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}

	none := []string{"SUDO_UID=", "HOME=/nonexistent", "DOCKER_CONFIG=", "REGISTRY_AUTH_FILE=", "XDG_RUNTIME_DIR="}
	out, err := a.Brig(t, none, "rootfs", "pull", reference)
	if err == nil || !strings.Contains(out, "docker login") {
		t.Errorf("without credentials: %v\n%s", err, out)
	}
	if all, err := a.Images(t.Context()); err != nil ||
		slices.ContainsFunc(all, func(i api.Image) bool { return slices.Contains(i.Names, "private:1") }) {
		t.Errorf("%+v, %v", all, err)
	}

	out, err = a.Brig(t, append(none, "DOCKER_CONFIG="+config), "rootfs", "pull", reference)
	if err != nil || !strings.Contains(out, "stored as private:1") {
		t.Errorf("with credentials: %v\n%s", err, out)
	}
}

// A pull whose brig is killed while the registry says nothing leaves no process, and the next one goes on
// where it stopped.
func TestPullKilled(t *testing.T) {
	a := harness.StartAgentWith(t, harness.PublicDir(t, "brig-pull-"), "--slots", "1")
	next := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	var stall atomic.Bool
	half, resumed := make(chan struct{}, 1), make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.URL.Path, "/blobs/") || r.Method != http.MethodGet || !stall.Load() && r.Header.Get("Range") == "" {
			next.ServeHTTP(w, r)
			return
		}

		if !stall.Load() {
			select {
			case resumed <- r.Header.Get("Range"):
			default:
			}
			next.ServeHTTP(w, r)
			return
		}

		answer := httptest.NewRecorder()
		next.ServeHTTP(answer, r)
		text := answer.Body.Bytes()
		if len(text) < 1<<20 { // the configuration
			w.Write(text)
			return
		}

		w.Header().Set("Content-Length", fmt.Sprint(len(text)))
		w.Write(text[:len(text)/2])
		w.(http.Flusher).Flush()
		half <- struct{}{}
		<-r.Context().Done()
	}))

	defer server.Close()

	noise := make([]byte, 4<<20)
	rand.NewChaCha8([32]byte{1}).Read(noise) //nolint:errcheck // never fails
	img := layersOf(t, v1.Config{}, tarOf(t, textFile("noise", string(noise), 0o644)))
	reference := push(t, server, "noise:1", img)
	stall.Store(true)
	cache := harness.PublicDir(t, "brig-cache-")
	t.Setenv("BRIG_CACHE", cache)
	cmd := exec.Command(harness.Binary(t, "brig"), "rootfs", "pull", reference)
	cmd.Env = append(os.Environ(), "BRIG_SOCKET="+a.Socket, "SUDO_UID=")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}

	<-half
	written := int64(0)
	harness.Eventually(t, "half of the layer to be written", func() bool {
		found, err := filepath.Glob(filepath.Join(cache, "downloads", "*.partial"))
		if err != nil || len(found) != 1 {
			return false
		}
		st, err := os.Stat(found[0])
		before := written
		if err == nil {
			written = st.Size()
		}
		return before > 0 && written == before
	})
	readers := harness.Descendants(t, cmd.Process.Pid)
	for deadline := harness.Patience(); len(readers) == 0 && time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		readers = harness.Descendants(t, cmd.Process.Pid)
	}

	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}

	_ = cmd.Wait() // it was killed
	if len(readers) == 0 {
		t.Error("no process reads the registry")
	}

	for _, pid := range readers {
		for deadline := harness.Patience(); ; time.Sleep(10 * time.Millisecond) {
			if _, err := os.Stat(fmt.Sprintf("/proc/%d", pid)); err != nil {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("process %d is left", pid)
			}
		}
	}

	stall.Store(false)
	if out, err := a.Brig(t, []string{"SUDO_UID="}, "rootfs", "pull", reference); err != nil || !strings.Contains(out, "stored as noise:1") {
		t.Errorf("%v\n%s", err, out)
	}

	select {
	case from := <-resumed:
		t.Logf("resumed with %s", from)
	default:
		t.Error("the second pull began anew")
	}
}
