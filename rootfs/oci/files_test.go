package oci

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	saved "github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/klauspost/compress/gzip"
)

// pack makes a tar of a directory.
func pack(t testing.TB, dir string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	if err := w.AddFS(os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// writeLayout writes images of platforms as a layout.
func writeLayout(t testing.TB, images map[string]v1.Image) string {
	t.Helper()
	dir := t.TempDir()
	p, err := layout.Write(dir, empty.Index)
	if err != nil {
		t.Fatal(err)
	}

	for platform, img := range images {
		var options []layout.Option
		if platform != "" {
			os, arch, _ := strings.Cut(platform, "/")
			options = append(options, layout.WithPlatform(v1.Platform{OS: os, Architecture: arch}))
		}
		if err := p.AppendImage(img, options...); err != nil {
			t.Fatal(err)
		}
	}

	return dir
}

// readFile has a child read a file, or a directory.
func readFile(t testing.TB, path, platform string) (found bool, layers map[string][]byte, err error) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}

	c := &child{}
	p, err := parsePlatform(platform)
	if err != nil {
		t.Fatal(err)
	}

	var s source
	var img Image
	var read documents
	if info.IsDir() {
		s, img, read, err = c.find(t.Context(), Request{Directory: path}, p)
	} else {
		f, oerr := os.Open(path)
		if oerr != nil {
			t.Fatal(oerr)
		}
		defer f.Close()
		files, oerr := openTarball(f, t.TempDir())
		if oerr != nil || files == nil {
			return false, nil, oerr
		}
		s, img, read, err = findIn(t.Context(), files, p)
	}

	if err != nil {
		return true, nil, err
	}
	if same, err := read.describe(Request{Platform: platform}); err != nil || !reflect.DeepEqual(diffIDs(same), diffIDs(img)) ||
		same.Manifest != img.Manifest || same.Config != img.Config {
		t.Errorf("the parent concludes %+v from the documents, and the child %+v: %v", same, img, err)
	}

	layers = map[string][]byte{}
	for _, l := range img.Layers {
		blob, err := s.layer(t.Context(), l)
		if err != nil {
			return true, layers, err
		}

		plain, err := decompressed(blob)
		if err != nil {
			return true, layers, err
		}

		text, err := readBounded(plain, 1<<30, "layer")
		if err != nil {
			return true, layers, err
		}
		if digestOf(text) != l.DiffID {
			return true, layers, fmt.Errorf("layer %s has another digest", l.DiffID)
		}

		layers[l.DiffID] = text
		plain.Close()
	}

	return true, layers, nil
}

func diffIDs(img Image) (all []string) {
	for _, l := range img.Layers {
		all = append(all, l.DiffID)
	}
	return all
}

func write(t testing.TB, text []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func gzipped(t testing.TB, text []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Write(text)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// membersOf makes a tar of files.
func membersOf(t testing.TB, files ...[2]string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range files {
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: f[0], Size: int64(len(f[1])), Mode: 0o644}); err != nil {
			t.Fatal(err)
		}
		w.Write([]byte(f[1]))
	}

	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// brig distinguishes archives of layers from root file systems by their content, not by their names
// or their compression.
func TestArchivesOfLayersAreFoundByTheirContent(t *testing.T) {
	img, plain := threeLayers(t)
	dir := writeLayout(t, map[string]v1.Image{"": img})
	var old bytes.Buffer
	if err := saved.Write(name.MustParseReference("some/image:tag"),
		imageOf(t, "linux/amd64", packedLayer{plain[0], plain[0], types.DockerUncompressedLayer},
			packedLayer{plain[1], plain[1], types.DockerUncompressedLayer},
			packedLayer{plain[2], plain[2], types.DockerUncompressedLayer}), &old); err != nil {
		t.Fatal(err)
	}

	arm := imageOf(t, "linux/arm64", packedLayer{plain[2], plain[2], types.OCIUncompressedLayer})
	two := writeLayout(t, map[string]v1.Image{"linux/amd64": img, "linux/arm64": arm})
	unnamed := writeLayout(t, map[string]v1.Image{"": img})
	if p, err := layout.FromPath(unnamed); err != nil || p.AppendImage(arm) != nil {
		t.Fatal(err)
	}

	broken := writeLayout(t, map[string]v1.Image{"": img})
	if err := os.Remove(filepath.Join(broken, "blobs/sha256", strings.TrimPrefix(digestOf(plain[0]), "sha256:"))); err != nil {
		t.Fatal(err)
	}

	lies := writeLayout(t, map[string]v1.Image{"": img})
	digest, _ := img.Digest()
	if err := os.WriteFile(filepath.Join(lies, "blobs/sha256", digest.Hex), []byte(`{"schemaVersion":2,"layers":[]}`), 0o600); err != nil {
		t.Fatal(err)
	}

	for _, tt := range []struct {
		name, path, platform string
		found                bool
		layers               int
		fails                string
	}{
		{"a layout", dir, "", true, 3, ""},
		{"a layout in a tar", write(t, pack(t, dir)), "", true, 3, ""},
		{"a layout in a compressed tar", write(t, gzipped(t, pack(t, dir))), "", true, 3, ""},
		{"docker save before 25", write(t, old.Bytes()), "", true, 3, ""},
		{"the same, compressed", write(t, gzipped(t, old.Bytes())), "", true, 3, ""},
		{"two platforms", two, "linux/arm64", true, 1, ""},
		{"two platforms, and neither", two, "linux/s390x", true, 0, "there are linux/amd64, linux/arm64"},
		{"one platform, and another", dir, "linux/arm64", true, 0, "there is linux/amd64"},
		{"two images without a platform", unnamed, "", true, 0, "save one alone"},
		{"a layout without an image",
			write(t, membersOf(t, [2]string{"oci-layout", "{}"}, [2]string{"index.json", `{"manifests":[]}`}, [2]string{"blobs/sha256/aa", "x"})),
			"", true, 0, "lists no image"},
		{"saved, without an image", write(t, membersOf(t, [2]string{"manifest.json", "[]"}, [2]string{"abc/layer.tar", "x"})), "",
			true, 0, "lists no image"},
		{"a layer is missing", broken, "", true, 0, "no such file"},
		{"another manifest than index.json says", lies, "", true, 0, "lies"},
		{"a root file system",
			write(t, membersOf(t, [2]string{"bin/sh", "x"}, [2]string{"index.json", "{}"}, [2]string{"oci-layout", "{}"})), "", false, 0, ""},
		{"a root file system with such names",
			write(t, membersOf(t, [2]string{"blobs/x", "x"}, [2]string{"bin/sh", "x"}, [2]string{"index.json", "{}"})), "", false, 0, ""},
		{"no tar", write(t, []byte("hello")), "", false, 0, ""},
		{"nothing", write(t, nil), "", false, 0, ""},
		{"saved, without its layers",
			write(t, membersOf(t, [2]string{"manifest.json", `[{"Config":"c.json","Layers":["../../etc/passwd"]}]`}, [2]string{"c.json", "{}"})), "",
			true, 0, "incomplete"},
	} {
		platform := tt.platform
		if platform == "" {
			platform = "linux/amd64"
		}
		found, layers, err := readFile(t, tt.path, platform)
		switch {
		case found != tt.found || len(layers) != tt.layers:
			t.Errorf("%s: found %v, %d layers, %v; want %v and %d", tt.name, found, len(layers), err, tt.found, tt.layers)
		case (err == nil) != (tt.fails == "") || err != nil && !strings.Contains(err.Error(), tt.fails):
			t.Errorf("%s: %v; want an error with %q", tt.name, err, tt.fails)
		}
	}
}

// IMG-38: a layout's names lead nowhere out of its directory.
func TestLayoutsDoNotLeadOut(t *testing.T) {
	img, _ := threeLayers(t)
	dir := writeLayout(t, map[string]v1.Image{"": img})
	secret := write(t, []byte(`{"manifests":[]}`))
	index := filepath.Join(dir, "index.json")
	if err := os.Remove(index); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(secret, index); err != nil {
		t.Fatal(err)
	}
	if _, _, err := readFile(t, dir, "linux/amd64"); err == nil || !strings.Contains(err.Error(), "escapes") {
		t.Errorf("%v; want a refusal to leave the directory", err)
	}
}

// IMG-33: an index that names itself, or another index. IMG-36: compressions that tools use. And
// manifests that brig cannot store are refused by name.
func TestManifestsThatCannotBeStored(t *testing.T) {
	img, plain := threeLayers(t)
	platform := v1.Platform{OS: "linux", Architecture: "amd64"}

	for _, tt := range []struct {
		name  string
		media types.MediaType
		urls  []string
		fails string
	}{
		{"gzip", types.DockerLayer, nil, ""},
		{"zstd", types.OCILayerZStd, nil, ""},
		{"foreign", types.DockerForeignLayer, nil, "elsewhere"},
		{"with addresses", types.OCILayer, []string{"http://x"}, "elsewhere"},
		{"encrypted", types.OCILayer + "+encrypted", nil, "encrypted"},
		{"no layer", "application/vnd.example", nil, "no image to run"},
	} {
		m := &v1.Manifest{Layers: []v1.Descriptor{{MediaType: tt.media, URLs: tt.urls,
			Digest: v1.Hash{Algorithm: "sha256", Hex: strings.Repeat("0", 64)}}}}
		if err := checkManifest(m); (err == nil) != (tt.fails == "") || err != nil && !strings.Contains(err.Error(), tt.fails) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}

	many := &v1.Manifest{Layers: make([]v1.Descriptor, 129)}
	if err := checkManifest(many); err == nil {
		t.Error("129 layers were accepted")
	}

	r := startRegistry(t)
	inner := mutate.AppendManifests(empty.Index, mutate.IndexAddendum{Add: img, Descriptor: v1.Descriptor{Platform: &platform}})
	digest, err := inner.Digest()
	if err != nil {
		t.Fatal(err)
	}

	text, err := inner.RawManifest()
	if err != nil {
		t.Fatal(err)
	}

	nested, err := json.Marshal(v1.IndexManifest{SchemaVersion: 2, MediaType: types.OCIImageIndex,
		Manifests: []v1.Descriptor{{MediaType: types.OCIImageIndex, Digest: digest, Size: int64(len(text)), Platform: &platform}}})
	if err != nil {
		t.Fatal(err)
	}

	itself := bytes.ReplaceAll(nested, []byte(digest.Hex), []byte(strings.Repeat("1", 64)))
	for name, answers := range map[string][2][]byte{"an index names an index": {nested, text},
		"any digest is the same index": {itself, itself}} {
		r.intercept(func(w httpWriter, req *httpRequest, next httpHandler) {
			switch {
			case strings.HasSuffix(req.URL.Path, "/manifests/latest"):
				w.Write(answers[0])
			case strings.Contains(req.URL.Path, "/manifests/"):
				w.Write(answers[1])
			default:
				next.ServeHTTP(w, req)
			}
		})

		if _, _, err := r.pull(t, "i", t.TempDir()); err == nil ||
			!strings.Contains(err.Error(), "another index") && !strings.Contains(err.Error(), "lies") {
			t.Errorf("%s: %v", name, err)
		}
	}

	half := len(plain[0]) / 2
	members := packedLayer{plain[0], append(gzipped(t, plain[0][:half]), gzipped(t, plain[0][half:])...), types.OCILayer}
	r.intercept(func(w httpWriter, req *httpRequest, next httpHandler) { next.ServeHTTP(w, req) })
	r.push(t, "members", imageOf(t, "linux/amd64", members, zstdLayer(t, plain[1])))
	if _, layers, err := r.pull(t, "members", t.TempDir()); err != nil || len(layers) != 2 {
		t.Errorf("two gzip members, and zstd with a skippable frame: %d layers, %v", len(layers), err)
	}
}
