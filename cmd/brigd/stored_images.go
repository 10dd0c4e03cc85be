package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/rootfs"
	"github.com/brig-sandbox/brig/rootfs/archive"
	"github.com/brig-sandbox/brig/runtime"
)

// images implements the agent's interface with the image store: see wire.go.
type images struct {
	store *rootfs.Store
	host  *runtime.Host
}

func (i images) Import(ctx context.Context, r io.Reader, name, expectDigest string,
	progress func(string)) (api.Image, error) {
	img, err := i.store.Import(ctx, r, rootfs.Options{
		Name: name, ExpectDigest: expectDigest,
		Progress: func(a archive.Amount) {
			if progress != nil {
				progress(fmt.Sprint(a))
			}
		},
	})
	if img.Replaced {
		i.host.ImagesRemoved()
	}
	return describe(img, nil), imageError(err)
}

func (i images) ImportLayer(ctx context.Context, r io.Reader, digest string) (api.Layer, error) {
	l, err := i.store.ImportLayer(ctx, r, digest, archive.Bounds{})
	return describeLayer(l, nil), imageError(err)
}

func (i images) AbandonLayer(_ context.Context, digest string) error {
	return imageError(i.store.Abandon(digest))
}

func (i images) Layers(context.Context) ([]api.Layer, error) {
	list, err := i.store.Layers()
	images, ierr := i.store.List()
	shared := sharedBy(images)
	out := make([]api.Layer, 0, len(list))
	for _, l := range list {
		out = append(out, describeLayer(l, shared))
	}
	return out, errors.Join(err, ierr)
}

func (i images) Add(ctx context.Context, s api.ImageSpec, name string) (api.Image, error) {
	img, err := i.store.AddImage(ctx,
		rootfs.Spec{Layers: s.Layers, Config: rootfs.Config(s.Config), Origin: rootfs.Origin(s.Origin)}, name)
	if img.Replaced {
		i.host.ImagesRemoved()
	}
	return describe(img, nil), imageError(err)
}

func (i images) List(context.Context) ([]api.Image, error) {
	list, err := i.store.List()
	shared := sharedBy(list)
	out := make([]api.Image, 0, len(list))
	for _, img := range list {
		out = append(out, describe(img, shared))
	}
	return out, err
}

func (i images) Remove(_ context.Context, name string) error {
	err := i.store.Remove(name)
	i.host.ImagesRemoved()
	return imageError(err)
}

// GC removes images without a name, layers without an image, and the remains of broken imports.
func (i images) GC(context.Context) (api.Cleaned, error) {
	list, err := i.store.List()
	var c api.Cleaned
	for _, img := range list {
		if len(img.Names) > 0 {
			continue
		}
		removed, rerr := i.store.RemoveUnnamed(img.Digest) // it may have a name by now
		err = errors.Join(err, rerr)
		if !removed || rerr != nil {
			continue
		}
		c.Images = append(c.Images, img.Digest)
		if len(img.Layers) == 0 { // those of layers are counted below
			c.Bytes += img.Size
		}
	}

	layers, lerr := i.store.RemoveUnusedLayers()
	for _, l := range layers {
		c.Layers = append(c.Layers, l.Digest)
		c.Bytes += l.Size
	}

	i.host.ImagesRemoved()
	return c, errors.Join(err, lerr, i.store.Clean())
}

func (i images) Verify(ctx context.Context, name string) (api.Verified, error) {
	v, err := i.store.Verify(ctx, name)
	return api.Verified{
		Image: describe(v.Image, nil), Members: v.Amount.Entries, Bytes: v.Amount.Unpacked,
		Changed: v.Changed, Missing: v.Missing, Extra: v.Extra,
	}, imageError(err)
}

// describe describes an image. shared says how many images have each layer.
func describe(img rootfs.Image, shared map[string]int) api.Image {
	out := api.Image{
		Digest: img.Digest, Names: img.Names, Size: img.Size, Created: img.Imported.UTC().Format(time.RFC3339),
		Replaced: img.Replaced,
		Config:   api.ImageConfig(img.Config), Origin: api.ImageOrigin(img.Origin),
	}

	for name, o := range img.Origins {
		if out.Origins == nil {
			out.Origins = map[string]api.ImageOrigin{}
		}
		out.Origins[name] = api.ImageOrigin(o)
	}

	for _, l := range img.Layers {
		out.Layers = append(out.Layers, describeLayer(l, shared))
	}
	return out
}

func describeLayer(l rootfs.Layer, shared map[string]int) api.Layer {
	return api.Layer{Digest: l.Digest, Size: l.Size, Created: l.Imported.UTC().Format(time.RFC3339),
		Images: shared[l.Digest]}
}

// sharedBy counts the images that have each layer.
func sharedBy(images []rootfs.Image) map[string]int {
	shared := map[string]int{}
	for _, img := range images {
		for _, l := range img.Layers {
			shared[l.Digest]++
		}
	}
	return shared
}

// imageError maps errors of the store to codes of the API.
func imageError(err error) error {
	var unsafe *archive.UnsafeError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, rootfs.ErrName), errors.Is(err, rootfs.ErrSpec):
		return api.Refuse(api.CodeBadRequest, "%w", err)
	case errors.Is(err, rootfs.ErrNotFound), errors.Is(err, rootfs.ErrNoLayer):
		return api.Refuse(api.CodeNoImage, "%w", err)
	case errors.As(err, &unsafe), errors.Is(err, rootfs.ErrNoRecord), errors.Is(err, archive.ErrTruncated),
		errors.Is(err, archive.ErrMalformed), errors.Is(err, rootfs.ErrDigest), errors.Is(err, archive.ErrTooLarge):
		return api.Refuse(api.CodeBadImage, "%w", err)
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EDQUOT):
		return api.Fail(api.CodeHostExhausted, "%w", err)
	}

	return err
}
