package images

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/klauspost/compress/zstd"

	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// A zstdLayer is a layer as static.NewLayer makes it, with the diffID of what is in it.
type zstdLayer struct {
	v1.Layer
	diffID v1.Hash
}

func (l zstdLayer) DiffID() (v1.Hash, error) { return l.diffID, nil }

// split makes parts of an archive, of about the same size. Each is a layer.
func split(b *testing.B, archive []byte, parts int) [][]byte {
	b.Helper()
	z, err := zstd.NewReader(bytes.NewReader(archive))
	if err != nil {
		b.Fatal(err)
	}
	defer z.Close()

	buffers, writers := make([]bytes.Buffer, parts), make([]*tar.Writer, parts)
	for i := range writers {
		writers[i] = tar.NewWriter(&buffers[i])
	}

	in, n := map[string]int{}, 0
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			b.Fatal(err)
		}

		to := n % parts
		if n++; h.Typeflag == tar.TypeLink { // to a file of its layer
			to = in[h.Linkname]
		} else if h.Typeflag == tar.TypeDir {
			to = 0
		}

		in[h.Name] = to
		if err := writers[to].WriteHeader(h); err != nil {
			b.Fatal(err)
		}
		if _, err := io.Copy(writers[to], r); err != nil {
			b.Fatal(err)
		}
	}

	out := make([][]byte, parts)
	for i, w := range writers {
		if err := w.Close(); err != nil {
			b.Fatal(err)
		}
		out[i] = buffers[i].Bytes()
	}

	return out
}

// BenchmarkStoringImages compares, in turns, tar --zstd -x of three layers with brig rootfs pull of an
// image of them from a registry on loopback, with the import of a layout, and with the import of the
// whole as one archive. sync is part of brig's times, so tar is followed by one, too.
func BenchmarkStoringImages(b *testing.B) {
	a := harness.StartAgentWith(b, harness.PublicDir(b, "brig-pull-"), "--slots", "1")
	archive := harness.ImageArchive(b.Context(), b, "python-full")
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()

	dir := harness.PublicDir(b, "brig-bench-")
	img := mutate.MediaType(empty.Image, types.OCIManifestSchema1)
	config := layersOf(b, v1.Config{})
	file, err := config.ConfigFile()
	if err != nil {
		b.Fatal(err)
	}
	if img, err = mutate.ConfigFile(img, file); err != nil {
		b.Fatal(err)
	}

	var layers []string
	for i, text := range split(b, archive, 3) {
		packed := exec.Command("zstd", "-q", "-3", "-c")
		packed.Stdin = bytes.NewReader(text)
		blob, err := packed.Output()
		if err != nil {
			b.Fatal(err)
		}

		name := filepath.Join(dir, fmt.Sprintf("%d.tar.zst", i))
		if err := os.WriteFile(name, blob, 0o644); err != nil {
			b.Fatal(err)
		}

		layers = append(layers, name)
		diffID, _, err := v1.SHA256(bytes.NewReader(text))
		if err != nil {
			b.Fatal(err)
		}
		if img, err = mutate.Append(img,
			mutate.Addendum{Layer: zstdLayer{static.NewLayer(blob, types.OCILayerZStd), diffID}, MediaType: types.OCILayerZStd}); err != nil {
			b.Fatal(err)
		}
	}

	reference := push(b, server, "bench:1", img)
	whole, saved := filepath.Join(dir, "whole.tar.zst"), filepath.Join(dir, "layout")
	if err := os.WriteFile(whole, archive, 0o644); err != nil {
		b.Fatal(err)
	}
	if p, err := layout.Write(saved, empty.Index); err != nil || p.AppendImage(img) != nil {
		b.Fatal(err)
	}
	if out, err := exec.Command("chmod", "-R", "a+rX", saved).CombinedOutput(); err != nil { // brig reads it as nobody
		b.Fatalf("%v: %s", err, out)
	}

	tree := filepath.Join(a.Data, "tree")
	extract := func(archives ...string) error {
		if err := os.Mkdir(tree, 0o755); err != nil {
			return err
		}
		for _, name := range archives {
			if out, err := exec.Command("tar", "--zstd", "-C", tree, "-xf", name).CombinedOutput(); err != nil {
				return fmt.Errorf("%w: %s", err, out)
			}
		}
		return nil
	}

	brig := func(args ...string) error {
		out, err := a.Brig(b, nil, args...)
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	}

	steps := []struct {
		name string
		do   func() error
	}{
		{"tar-3", func() error { return extract(layers...) }},
		{"tar-3-sync", func() error {
			return errors.Join(extract(layers...), exec.Command("sync", "-f", tree).Run())
		}},
		{"pull", func() error { return brig("rootfs", "pull", reference, "--name", "p") }},
		{"import-layout", func() error { return brig("rootfs", "import", saved, "--name", "p") }},
		{"tar-1", func() error { return extract(whole) }},
		{"import-archive", func() error { return brig("rootfs", "import", whole, "--name", "p") }},
	}

	minimum := make([]time.Duration, len(steps))
	for b.Loop() {
		for i, s := range steps {
			err := errors.Join(os.RemoveAll(tree), exec.Command("sync", "-f", a.Data).Run()) // each begins with nothing to write
			if err != nil {
				b.Fatal(err)
			}

			began := time.Now()
			err = s.do()
			took := time.Since(began)
			if err != nil {
				b.Fatal(err)
			}
			if minimum[i] == 0 || took < minimum[i] {
				minimum[i] = took
			}
			if s.name[:3] != "tar" {
				if err := brig("rootfs", "rm", "p"); err != nil {
					b.Fatal(err)
				}
			}
		}
	}

	for i, s := range steps {
		b.ReportMetric(minimum[i].Seconds(), s.name+"-s")
	}
}
