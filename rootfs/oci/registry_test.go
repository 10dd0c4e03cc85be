package oci

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// An image is found by its name, its layers come uncompressed and checked, and those that are stored
// are not asked for. Nothing remains of the downloads.
func TestPull(t *testing.T) {
	r := startRegistry(t)
	img, plain := threeLayers(t)
	r.push(t, "some/image:tag", img)
	cache := t.TempDir()
	got, layers, err := r.pull(t, "some/image:tag", cache)
	if err != nil {
		t.Fatal(err)
	}

	digest, _ := img.Digest()
	if got.Manifest != digest.String() || got.Platform != "linux/amd64" || !strings.HasSuffix(got.Reference, "/some/image:tag") ||
		len(got.Layers) != 3 ||
		got.Run.WorkingDir != "/w" || got.Run.User != "app" || len(got.Run.Env) != 1 || got.Run.Entrypoint[0] != "/e" || got.Run.Cmd[0] != "c" {
		t.Errorf("%+v", got)
	}

	for i, p := range plain {
		if !bytes.Equal(layers[digestOf(p)], p) {
			t.Errorf("layer %d differs", i)
		}
	}

	if left, err := os.ReadDir(cache); err != nil || len(left) > 0 {
		t.Errorf("%v are left, %v", left, err)
	}

	r.blobs.Store(0)
	if _, layers, err := r.pull(t, "some/image@"+digest.String(), cache, digestOf(plain[0]), digestOf(plain[2])); err != nil ||
		len(layers) != 1 || r.blobs.Load() != 2 {
		t.Errorf("with two layers stored: %d layers, %d requests, %v; want one layer, and its blob and the configuration asked for",
			len(layers), r.blobs.Load(), err)
	}
	if _, _, err := r.pull(t, "some/other", cache); !errors.Is(err, ErrNotFound) &&
		(err == nil || !strings.Contains(err.Error(), "no such image")) {
		t.Errorf("an image that does not exist: %v", err)
	}
}

// IMG-37: registries that cut, lie and dawdle; IMG-40: those that would do so for ever. Each case says
// what must come of it; the first is the control.
func TestHostileRegistries(t *testing.T) {
	img, plain := threeLayers(t)
	big := digestOf(plain[0]) // its blob is not compressed
	isBig := func(req *http.Request) bool {
		return req.Method == http.MethodGet && strings.HasSuffix(req.URL.Path, "/blobs/"+big)
	}
	isManifest := func(req *http.Request) bool {
		return req.Method == http.MethodGet && strings.Contains(req.URL.Path, "/manifests/")
	}
	cut := func(w http.ResponseWriter, from, to int) {
		w.Header().Set("Content-Length", fmt.Sprint(len(plain[0])-from))
		if from > 0 {
			w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, len(plain[0])-1, len(plain[0])))
			w.WriteHeader(http.StatusPartialContent)
		}
		w.Write(plain[0][from:to])
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}

	for _, tt := range []struct {
		name   string
		answer func(n int, w http.ResponseWriter, req *http.Request, next http.Handler) bool // the nth request for the big blob; false: as usual
		fails  string                                                                        // empty: it must work
	}{
		{"none", func(int, http.ResponseWriter, *http.Request, http.Handler) bool { return false }, ""},
		{"cuts twice", func(n int, w http.ResponseWriter, req *http.Request, _ http.Handler) bool {
			if isBig(req) && n < 3 {
				want := ""
				if n == 2 {
					want = "bytes=100000-"
				}
				if got := req.Header.Get("Range"); got != want {
					t.Errorf("request %d has Range %q; want %q", n, got, want)
				}
				cut(w, (n-1)*100_000, n*100_000)
			}
			return false
		}, ""},
		{"cuts always at once", func(_ int, w http.ResponseWriter, req *http.Request, _ http.Handler) bool {
			if isBig(req) {
				panic(http.ErrAbortHandler)
			}
			return false
		}, "after 3 attempts"},
		{"answers 200 to a range", func(n int, w http.ResponseWriter, req *http.Request, next http.Handler) bool {
			if isBig(req) && n == 1 {
				cut(w, 0, 100_000)
			}
			if isBig(req) {
				req.Header.Del("Range")
			}
			return false
		}, ""},
		{"sends another range, once", func(n int, w http.ResponseWriter, req *http.Request, next http.Handler) bool {
			if isBig(req) && n == 1 {
				cut(w, 0, 100_000)
			}
			if isBig(req) && n == 2 {
				w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", 5000, len(plain[0])-1, len(plain[0])))
				w.WriteHeader(http.StatusPartialContent)
				w.Write(plain[0][5000:])
				return true
			}
			if isBig(req) && req.Header.Get("Range") != "" {
				t.Errorf("after a wrong range it asks for %s; want all", req.Header.Get("Range"))
			}
			return false
		}, ""},
		{"sends other bytes", func(n int, w http.ResponseWriter, req *http.Request, next http.Handler) bool {
			if isBig(req) {
				w.Write(bytes.Repeat([]byte{1}, len(plain[0])))
			}
			return isBig(req)
		}, "lies"},
		{"sends more than the manifest says", func(n int, w http.ResponseWriter, req *http.Request, next http.Handler) bool {
			if isBig(req) {
				w.Write(plain[0])
				w.Write(make([]byte, 1<<20))
			}
			return isBig(req)
		}, "longer than"},
		{"a manifest of 100 MiB", func(n int, w http.ResponseWriter, req *http.Request, next http.Handler) bool {
			if isManifest(req) {
				w.Write(append([]byte("{"), bytes.Repeat([]byte(" "), 100<<20)...))
			}
			return isManifest(req)
		}, "more than 4194304 bytes"},
		{"a manifest that is none", func(n int, w http.ResponseWriter, req *http.Request, next http.Handler) bool {
			if isManifest(req) {
				io.WriteString(w, `{"schemaVersion":1,"fsLayers":[]}`)
			}
			return isManifest(req)
		}, "schema 1"},
		{"redirects in circles", func(n int, w http.ResponseWriter, req *http.Request, next http.Handler) bool {
			if isBig(req) {
				http.Redirect(w, req, req.URL.Path, http.StatusTemporaryRedirect)
			}
			return isBig(req)
		}, "in circles"},
		{"429 with Retry-After, once", func(n int, w http.ResponseWriter, req *http.Request, next http.Handler) bool {
			if isBig(req) && n == 1 {
				w.Header().Set("Retry-After", "1")
				w.WriteHeader(http.StatusTooManyRequests)
			}
			return isBig(req) && n == 1
		}, ""},
		{"429 for an hour", func(n int, w http.ResponseWriter, req *http.Request, next http.Handler) bool {
			if isBig(req) {
				w.Header().Set("Retry-After", "3600")
				w.WriteHeader(http.StatusTooManyRequests)
			}
			return isBig(req)
		}, "come again at"},
		{"dribbles", func(n int, w http.ResponseWriter, req *http.Request, next http.Handler) bool {
			for i := 0; isBig(req) && i < 400; i++ {
				w.Write(plain[0][i : i+1])
				w.(http.Flusher).Flush()
				select {
				case <-time.After(50 * time.Millisecond):
				case <-req.Context().Done():
					return true
				}
			}
			return isBig(req)
		}, "too slowly"},
		{"sends one byte for each attempt", func(n int, w http.ResponseWriter, req *http.Request, _ http.Handler) bool {
			if isBig(req) {
				if n > 20 {
					t.Errorf("it was asked %d times", n)
				}
				cut(w, n-1, n)
			}
			return false
		}, "after 3 attempts"},
		{"sends the beginning again and again, with wrong ranges between",
			func(n int, w http.ResponseWriter, req *http.Request, _ http.Handler) bool {
				if isBig(req) && n > 20 {
					t.Errorf("it was asked %d times", n)
				}
				if isBig(req) && req.Header.Get("Range") == "" {
					cut(w, 0, 100_000)
				}
				if isBig(req) {
					w.Header().Set("Content-Range", fmt.Sprintf("bytes 5-%d/%d", len(plain[0])-1, len(plain[0])))
					w.WriteHeader(http.StatusPartialContent)
				}
				return isBig(req)
			}, "attempts"},
		{"refuses", func(n int, w http.ResponseWriter, req *http.Request, next http.Handler) bool {
			if isManifest(req) {
				w.WriteHeader(http.StatusForbidden)
			}
			return isManifest(req)
		}, "docker login"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := startRegistry(t)
			r.push(t, "i", img)
			var n atomic.Int64
			r.intercept(func(w http.ResponseWriter, req *http.Request, next http.Handler) {
				nth := 0
				if isBig(req) {
					nth = int(n.Add(1))
				}
				if !tt.answer(nth, w, req, next) {
					next.ServeHTTP(w, req)
				}
			})

			_, layers, err := r.pull(t, "i", t.TempDir())
			switch {
			case tt.fails == "" && (err != nil || len(layers) != 3):
				t.Errorf("%d layers, %v", len(layers), err)
			case tt.fails != "" && (err == nil || !strings.Contains(err.Error(), tt.fails) || layers[big] != nil):
				t.Errorf("%v; want an error with %q", err, tt.fails)
			}
		})
	}
}

// IMG-40: a registry that answers the log-in with a body without end, or not at all, is given up. The
// control is one that answers a little late.
func TestEndlessLogins(t *testing.T) {
	img, _ := threeLayers(t)
	for _, tt := range []struct {
		name   string
		answer func(w http.ResponseWriter, req *http.Request)
		fails  string
	}{
		{"late", func(http.ResponseWriter, *http.Request) { time.Sleep(100 * time.Millisecond) }, ""},
		{"fast, without end", func(w http.ResponseWriter, req *http.Request) {
			for req.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 64<<10)); err != nil {
					return
				}
			}
		}, ""}, // what it says is of no interest
		{"slow, without end", func(w http.ResponseWriter, req *http.Request) {
			for req.Context().Err() == nil {
				w.Write([]byte{'x'})
				w.(http.Flusher).Flush()
				time.Sleep(10 * time.Millisecond)
			}
		}, ""},
		{"nothing", func(_ http.ResponseWriter, req *http.Request) { <-req.Context().Done() }, "does not answer within 6s"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := startRegistry(t)
			r.push(t, "i", img)
			r.intercept(func(w http.ResponseWriter, req *http.Request, next http.Handler) {
				if req.URL.Path == "/v2/" {
					tt.answer(w, req)
				}
				next.ServeHTTP(w, req)
			})

			quick := hasty
			quick.document, quick.login = 4*time.Second, 6*time.Second
			ctx, stop := context.WithTimeout(t.Context(), time.Minute)
			defer stop()

			_, err := openRegistry(ctx, r.host()+"/i", false, noKeys, &blobCache{t.TempDir()}, quick)
			if ctx.Err() != nil || tt.fails == "" && err != nil || tt.fails != "" && (err == nil || !strings.Contains(err.Error(), tt.fails)) {
				t.Errorf("%v, %v; want an error with %q", err, ctx.Err(), tt.fails)
			}
		})
	}
}

// A download that another process began is gone on with; one whose bytes are wrong begins anew.
func TestDownloadsAreResumedByAnotherProcess(t *testing.T) {
	img, plain := threeLayers(t)
	r := startRegistry(t)
	r.push(t, "i", img)

	for name, begun := range map[string][]byte{"right": plain[0][:100_000], "wrong": make([]byte, 100_000),
		"too long": make([]byte, len(plain[0])+1)} {
		cache := t.TempDir()
		file := filepath.Join(cache, strings.ReplaceAll(digestOf(plain[0]), ":", "-")+".partial")
		if err := os.WriteFile(file, begun, 0o600); err != nil {
			t.Fatal(err)
		}

		var ranges atomic.Int64
		r.intercept(func(w http.ResponseWriter, req *http.Request, next http.Handler) {
			if req.Header.Get("Range") == "bytes=100000-" {
				ranges.Add(1)
			}
			next.ServeHTTP(w, req)
		})

		if _, layers, err := r.pull(t, "i", cache); err != nil || len(layers) != 3 || (ranges.Load() == 1) != (name != "too long") {
			t.Errorf("%s: %d layers, %d ranges, %v", name, len(layers), ranges.Load(), err)
		}
	}
}

type (
	httpWriter  = http.ResponseWriter
	httpRequest = http.Request
	httpHandler = http.Handler
)
