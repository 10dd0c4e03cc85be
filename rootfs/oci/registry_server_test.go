package oci

import (
	"archive/tar"
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	regserver "github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/klauspost/compress/zstd"
)

// layerTar makes an uncompressed layer of one file with size bytes.
func layerTar(t testing.TB, name string, size int) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	content := make([]byte, size)
	for i := range content {
		content[i] = byte(i * i >> 7)
	}

	err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(size), Mode: 0o644})
	if err == nil {
		_, err = w.Write(content)
	}
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// A packedLayer is a layer with a blob of the test's making.
type packedLayer struct {
	plain, blob []byte
	media       types.MediaType
}

func (l packedLayer) DiffID() (v1.Hash, error) { return v1.NewHash(digestOf(l.plain)) }
func (l packedLayer) Digest() (v1.Hash, error) { return v1.NewHash(digestOf(l.blob)) }
func (l packedLayer) Size() (int64, error)     { return int64(len(l.blob)), nil }
func (l packedLayer) MediaType() (types.MediaType, error) {
	return l.media, nil
}
func (l packedLayer) Compressed() (io.ReadCloser, error) {
	return io.NopCloser(bytes.NewReader(l.blob)), nil
}
func (l packedLayer) Uncompressed() (io.ReadCloser, error) {
	return io.NopCloser(bytes.NewReader(l.plain)), nil
}

func zstdLayer(t testing.TB, plain []byte) packedLayer {
	t.Helper()
	var b bytes.Buffer
	b.Write([]byte{0x5a, 0x2a, 0x4d, 0x18, 4, 0, 0, 0, 1, 2, 3, 4}) // a skippable frame

	for _, part := range [][]byte{plain[:len(plain)/2], plain[len(plain)/2:]} {
		w, err := zstd.NewWriter(&b)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(part); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}

	return packedLayer{plain, b.Bytes(), types.OCILayerZStd}
}

// imageOf makes an image of layers, for the platform os/arch.
func imageOf(t testing.TB, platform string, layers ...v1.Layer) v1.Image {
	t.Helper()
	img, err := mutate.AppendLayers(empty.Image, layers...)
	if err != nil {
		t.Fatal(err)
	}

	config, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}

	config = config.DeepCopy()
	config.OS, config.Architecture, _ = strings.Cut(platform, "/")
	config.Config = v1.Config{Env: []string{"A=1"}, Entrypoint: []string{"/e"}, Cmd: []string{"c"}, WorkingDir: "/w", User: "app"}
	if img, err = mutate.ConfigFile(img, config); err != nil {
		t.Fatal(err)
	}
	return img
}

// A testRegistry is a registry on loopback behind a handler that may answer first.
type testRegistry struct {
	*httptest.Server
	first atomic.Pointer[func(w http.ResponseWriter, r *http.Request, next http.Handler)]
	blobs atomic.Int64 // requests for blobs
}

func startRegistry(t testing.TB) *testRegistry {
	t.Helper()
	r := &testRegistry{}
	next := regserver.New(regserver.Logger(log.New(io.Discard, "", 0)))
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if strings.Contains(req.URL.Path, "/blobs/") && req.Method == http.MethodGet {
			r.blobs.Add(1)
		}
		if f := r.first.Load(); f != nil {
			(*f)(w, req, next)
			return
		}
		next.ServeHTTP(w, req)
	}))

	t.Cleanup(r.Close)
	return r
}

func (r *testRegistry) host() string { return strings.TrimPrefix(r.URL, "http://") }

func (r *testRegistry) push(t testing.TB, tag string, img v1.Image) {
	t.Helper()
	ref, err := name.ParseReference(r.host() + "/" + tag)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(ref, img); err != nil {
		t.Fatal(err)
	}
}

// intercept has f answer first.
func (r *testRegistry) intercept(f func(w http.ResponseWriter, req *http.Request, next http.Handler)) {
	r.first.Store(&f)
}

var hasty = timing{attempts: 3, pause: time.Millisecond, longest: 3 * time.Second, header: 5 * time.Second, document: 5 * time.Second,
	login: 8 * time.Second, stall: 2 * time.Second, minimum: 4 << 10}

type fixedKeys struct{ authn.Authenticator }

func (k fixedKeys) Resolve(authn.Resource) (authn.Authenticator, error) { return k.Authenticator, nil }

var noKeys = fixedKeys{authn.Anonymous}

// read has a child read what the request names. It returns the layers by their diffIDs. have are layers
// that are not needed.
func read(t testing.TB, r Request, keys authn.Keychain, have ...string) (img Image, layers map[string][]byte, err error) {
	t.Helper()
	toChild, fromUs := io.Pipe()
	toUs, fromChild := io.Pipe()
	c := &child{in: json.NewDecoder(toChild), out: &sender{w: bufio.NewWriter(fromChild)}, keys: keys, timing: hasty}
	done := make(chan error, 1)
	go func() {
		err := c.out.send(frameReady, nil)
		if err == nil {
			err = c.run(t.Context())
		}
		if err != nil {
			_ = c.out.send(frameError, []byte(err.Error()))
		}
		fromChild.Close()
		done <- err
	}()

	defer func() {
		fromUs.Close()
		toUs.Close()
		<-done
	}()

	rec := NewReceiver(toUs, fromUs)
	if err := rec.Send(r); err != nil {
		return img, nil, err
	}

	img, ok, err := rec.Image()
	if err != nil || !ok {
		return img, nil, err
	}

	var need []string
	for _, l := range img.Layers {
		if !strings.Contains(strings.Join(append(have, need...), " "), l.DiffID) {
			need = append(need, l.DiffID)
		}
	}

	if err := rec.Need(need); err != nil {
		return img, nil, err
	}

	layers = map[string][]byte{}
	for range need {
		diffID, body, err := rec.Layer()
		if err != nil {
			return img, layers, err
		}

		text, err := io.ReadAll(body)
		if err != nil {
			return img, layers, err
		}
		if digestOf(text) != diffID { // as the agent finds out
			return img, layers, fmt.Errorf("layer %s has another digest", diffID)
		}

		layers[diffID] = text
		if err := rec.Stored(); err != nil {
			return img, layers, err
		}
	}

	return img, layers, nil
}

func (r *testRegistry) pull(t testing.TB, tag, cache string, have ...string) (Image, map[string][]byte, error) {
	t.Helper()
	return read(t, Request{Reference: r.host() + "/" + tag, Cache: cache, Platform: "linux/amd64"}, noKeys, have...)
}

// threeLayers are plain, gzip and zstd.
func threeLayers(t testing.TB) (img v1.Image, plain [][]byte) {
	t.Helper()
	plain = [][]byte{layerTar(t, "a", 300<<10), layerTar(t, "b", 200_000), layerTar(t, "c", 1000)}
	return imageOf(t, "linux/amd64", packedLayer{plain[0], plain[0], types.OCIUncompressedLayer},
		static.NewLayer(plain[1], types.DockerUncompressedLayer), zstdLayer(t, plain[2])), plain
}
