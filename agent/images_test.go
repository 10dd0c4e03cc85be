package agent_test

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/agent"
	"github.com/brig-sandbox/brig/agent/client"
	"github.com/brig-sandbox/brig/api"
)

// shelf is an image store that keeps the bytes of the archives.
type shelf map[string][]byte

func (s shelf) Import(ctx context.Context, r io.Reader, name, digest string, progress func(string)) (api.Image, error) {
	b, err := io.ReadAll(r)
	if err != nil {
		return api.Image{}, err
	}
	if digest == "sha256:wrong" {
		return api.Image{}, api.Refuse(api.CodeBadImage, "the digest differs")
	}
	s[name] = b
	return api.Image{Digest: "sha256:1", Names: []string{name}, Size: int64(len(b))}, nil
}

func (s shelf) AbandonLayer(_ context.Context, digest string) error {
	delete(s, digest)
	return nil
}

func (s shelf) ImportLayer(ctx context.Context, r io.Reader, digest string) (api.Layer, error) {
	b, err := io.ReadAll(r)
	s[digest] = b
	return api.Layer{Digest: digest, Size: int64(len(b))}, err
}

func (s shelf) Layers(context.Context) ([]api.Layer, error) { return nil, nil }

func (s shelf) Add(_ context.Context, spec api.ImageSpec, name string) (api.Image, error) {
	s[name] = []byte(strings.Join(spec.Layers, " "))
	return api.Image{Names: []string{name}, Config: spec.Config}, nil
}

func (s shelf) List(context.Context) ([]api.Image, error) {
	var all []api.Image
	for name := range s {
		all = append(all, api.Image{Names: []string{name}})
	}
	return all, nil
}

func (s shelf) Remove(ctx context.Context, name string) error {
	if _, ok := s[name]; !ok {
		return api.Refuse(api.CodeNoImage, "no image %q", name)
	}
	delete(s, name)
	return nil
}

func (s shelf) GC(context.Context) (api.Cleaned, error) { return api.Cleaned{Bytes: 7}, nil }

func (s shelf) Verify(_ context.Context, name string) (api.Verified, error) {
	if _, ok := s[name]; !ok {
		return api.Verified{}, api.Refuse(api.CodeNoImage, "no image %q", name)
	}
	return api.Verified{Image: api.Image{Names: []string{name}}, Changed: []string{"usr/x"}}, nil
}

func TestImagesComeAndGo(t *testing.T) {
	store := shelf{}
	socket, _ := serve(t, agent.Config{Images: store, MaxArchive: 4 * api.MiB})
	c := client.New(socket)
	archive := bytes.Repeat([]byte{0, 1, 0xff}, 1<<20)
	img, err := c.Import(t.Context(), bytes.NewReader(archive), "a b/c", "")
	if err != nil || !bytes.Equal(store["a b/c"], archive) || img.Digest != "sha256:1" {
		t.Fatalf("import: %+v, %v, %d bytes stored; want all %d", img, err, len(store["a b/c"]), len(archive))
	}
	if all, err := c.Images(t.Context()); err != nil || len(all) != 1 {
		t.Errorf("list: %v, %v; want one", all, err)
	}
	if v, err := c.Verify(t.Context(), "a b/c"); err != nil || v.OK() || len(v.Changed) != 1 || v.Missing == nil {
		t.Errorf("verify: %+v, %v; want the one change and empty lists", v, err)
	}
	if err := c.RemoveImage(t.Context(), "a b/c"); err != nil {
		t.Errorf("remove: %v", err)
	}
	if err := c.RemoveImage(t.Context(), "a b/c"); code(err) != api.CodeNoImage {
		t.Errorf("remove again: %v; want unknown-image", err)
	}
	if done, err := c.Clean(t.Context()); err != nil || done.Bytes != 7 {
		t.Errorf("clean: %+v, %v", done, err)
	}
	if _, err := c.Import(t.Context(), strings.NewReader("x"), "n", "sha256:wrong"); code(err) != api.CodeBadImage {
		t.Errorf("import of another digest: %v; want bad-image", err)
	}
	if _, err := c.Import(t.Context(), strings.NewReader("x"), "", ""); code(err) != api.CodeBadRequest {
		t.Errorf("import without a name: %v; want bad-request", err)
	}
	if _, err := c.Import(t.Context(), bytes.NewReader(make([]byte, 5<<20)), "big", ""); code(err) != api.CodeTooLarge {
		t.Errorf("import over the cap: %v; want too-large", err)
	}
}

// Layers are sent as they are; an image of them is JSON to the route that takes archives, too, and has a
// bound of its own.
func TestImagesOfLayersAreDescribedInJSON(t *testing.T) {
	store := shelf{}
	socket, _ := serve(t, agent.Config{Images: store, MaxArchive: 4 * api.MiB})
	c := client.New(socket)
	layer := bytes.Repeat([]byte{0, 1}, 1<<20)
	if l, err := c.ImportLayer(t.Context(), bytes.NewReader(layer), "sha256:a"); err != nil || l.Digest != "sha256:a" ||
		!bytes.Equal(store["sha256:a"], layer) {
		t.Errorf("%+v, %v", l, err)
	}
	if _, err := c.ImportLayer(t.Context(), bytes.NewReader(nil), ""); !api.HasCode(err, api.CodeBadRequest) {
		t.Errorf("a layer without a digest: %v", err)
	}
	if _, err := c.ImportLayer(t.Context(), bytes.NewReader(make([]byte, 5<<20)), "sha256:b"); !api.HasCode(err, api.CodeTooLarge) {
		t.Errorf("a layer above the bound: %v", err)
	}

	spec := api.ImageSpec{Layers: []string{"sha256:a", "sha256:b"}, Config: api.ImageConfig{Entrypoint: []string{"/x"}}}
	if img, err := c.AddImage(t.Context(), spec, "n"); err != nil || string(store["n"]) != "sha256:a sha256:b" ||
		len(img.Config.Entrypoint) != 1 {
		t.Errorf("%+v, %v", img, err)
	}

	spec.Config.Cmd = []string{strings.Repeat("x", 300<<10)}
	if _, err := c.AddImage(t.Context(), spec, "m"); !api.HasCode(err, api.CodeTooLarge) || store["m"] != nil {
		t.Errorf("a description of 300 KiB: %v", err)
	}
}
