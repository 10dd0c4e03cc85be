package images

import (
	"archive/tar"
	"crypto/rand"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/internal/e2e/harness"
	"github.com/brig-sandbox/brig/internal/testenv"
)

// An image for which the store has no room is refused, with the two sizes and the cure, before anything is downloaded:
// a build and a pull would work for minutes and then fail. A small image is stored.
func TestImagesThatTheStoreHasNoRoomFor(t *testing.T) {
	testenv.NeedRoot(t)
	data := harness.PublicDir(t, "brig-full-")
	if err := unix.Mount("none", data, "tmpfs", 0, "mode=0711,size=24m"); err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		if err := unix.Unmount(data, 0); err != nil {
			t.Error(err)
		}
	})

	a := harness.StartAgentWith(t, data, "--slots", "1")

	var large atomic.Int64 // requests for a large layer
	next := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen := httptest.NewRecorder()
		if r.Method != http.MethodGet || !strings.Contains(r.URL.Path, "/blobs/") {
			next.ServeHTTP(w, r)
			return
		}

		next.ServeHTTP(seen, r)
		if seen.Body.Len() > 1<<20 {
			large.Add(1)
		}

		for k, v := range seen.Header() {
			w.Header()[k] = v
		}

		w.WriteHeader(seen.Code)
		w.Write(seen.Body.Bytes()) //nolint:errcheck // the reader reports it
	}))

	defer server.Close()

	noise := make([]byte, 40<<20)
	rand.Read(noise) //nolint:errcheck // never fails
	layer := tarOf(t, &tar.Header{Typeflag: tar.TypeReg, Name: "noise", Uname: string(noise), Mode: 0o644})
	big := push(t, server, "big:1", layersOf(t, v1.Config{}, layer))
	small := push(t, server, "small:1", layersOf(t, v1.Config{}, tarOf(t, textFile("etc/x", "x", 0o644))))

	for name, args := range map[string][]string{"build": {"rootfs", "build", "cpp"}, "pull": {"rootfs", "pull", big}} {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			out, err := a.Brig(t, nil, args...)
			if err == nil || !strings.Contains(out, "the agent's store has") || !strings.Contains(out, "brig rootfs gc") {
				t.Errorf("%v after %v: %s", err, time.Since(began), out)
			}
		})
	}

	if n := large.Load(); n != 0 {
		t.Errorf("%d large layers were asked for", n)
	}
	if out, err := a.Brig(t, nil, "rootfs", "pull", small); err != nil || !strings.Contains(out, "stored as small:1") {
		t.Errorf("a small image: %v\n%s", err, out)
	}
}
