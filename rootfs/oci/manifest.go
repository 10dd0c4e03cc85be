package oci

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// A descriptor names a blob.
type descriptor = v1.Descriptor

func digestOf(text []byte) string {
	sum := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// checkDigest refuses text with another digest, so that no index can lead to another manifest than it
// names, or to itself (IMG-33).
func checkDigest(text []byte, digest, what string) error {
	if got := digestOf(text); got != digest {
		return fmt.Errorf("the %s has the digest %s, not %s: the source is damaged, or lies", what, got, digest)
	}
	return nil
}

// find reads the description of an image for a platform.
func find(ctx context.Context, s source, platform v1.Platform) (Image, error) {
	text, err := s.manifest(ctx, "")
	if err != nil {
		return Image{}, err
	}

	kind, err := kindOf(text)
	if err != nil {
		return Image{}, err
	}

	named := "" // by the index
	if kind == index {
		d, err := choose(text, platform)
		if err != nil {
			return Image{}, err
		}
		if text, err = s.manifest(ctx, d.Digest.String()); err != nil {
			return Image{}, err
		}
		if err := checkDigest(text, d.Digest.String(), "manifest"); err != nil {
			return Image{}, err
		}
		if kind, err = kindOf(text); err != nil {
			return Image{}, err
		}

		// An index that names an index could go on without end.
		if kind == index {
			return Image{}, fmt.Errorf("its index names another index for %s: name the image by its digest", platform)
		}

		named = d.Platform.String()
	}

	m, err := v1.ParseManifest(bytes.NewReader(text))
	if err != nil {
		return Image{}, fmt.Errorf("parse manifest: %w", err)
	}

	// This is before the configuration is read, because the manifest says how large that is.
	if err := checkManifest(m); err != nil {
		return Image{}, err
	}

	config, err := s.config(ctx, m.Config)
	if err != nil {
		return Image{}, err
	}
	if err := checkDigest(config, m.Config.Digest.String(), "configuration"); err != nil {
		return Image{}, err
	}

	img := Image{Manifest: digestOf(text), Config: m.Config.Digest.String()}
	for _, l := range m.Layers {
		img.Layers = append(img.Layers, Layer{Blob: l.Digest.String(), Size: l.Size})
	}
	return img, img.configure(config, platform, named)
}

// What a document is.
const (
	index    = "index"
	manifest = "manifest"
)

// kindOf says what a document is by its content: registries and files may call it something else.
func kindOf(text []byte) (string, error) {
	var doc struct {
		SchemaVersion int             `json:"schemaVersion"`
		MediaType     types.MediaType `json:"mediaType"`
		Manifests     json.RawMessage `json:"manifests"`
		Layers        json.RawMessage `json:"layers"`
		FSLayers      json.RawMessage `json:"fsLayers"`
	}

	if err := checkValues(text, "its manifest"); err != nil {
		return "", err
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		return "", fmt.Errorf("the manifest is no JSON: %w", err)
	}

	switch {
	case doc.FSLayers != nil || doc.SchemaVersion == 1 || doc.MediaType.IsSchema1():
		return "", fmt.Errorf("its manifest has the format of docker before 1.10 (schema 1): push the image again with a newer docker")
	case doc.Manifests != nil && doc.Layers != nil:
		return "", fmt.Errorf("its manifest is an index and a manifest at once")
	case doc.Manifests != nil:
		return index, nil
	case doc.Layers != nil:
		return manifest, nil
	}

	return "", fmt.Errorf("its manifest has neither layers nor manifests: it is no image")
}

// choose finds the manifest for a platform in an index.
func choose(text []byte, platform v1.Platform) (descriptor, error) {
	all, err := v1.ParseIndexManifest(bytes.NewReader(text))
	if err != nil {
		return descriptor{}, fmt.Errorf("parse index: %w", err)
	}

	var found []string
	for _, d := range all.Manifests {
		if d.Platform == nil {
			if len(all.Manifests) == 1 { // a layout: its configuration says for which
				d.Platform = &v1.Platform{}
				return d, nil
			}
			continue
		}
		if d.Platform.OS == "unknown" || d.Platform.Architecture == "unknown" {
			continue // an attestation
		}
		if satisfies(*d.Platform, platform) {
			return d, nil
		}

		found = append(found, d.Platform.String())
	}

	if len(found) == 0 {
		return descriptor{}, fmt.Errorf("its index names no image for a platform")
	}

	slices.Sort(found)
	return descriptor{}, fmt.Errorf("there is no %s in it: there are %s; choose one with --platform", platform,
		strings.Join(slices.Compact(found), ", "))
}

// satisfies compares platforms. arm64 is arm64/v8.
func satisfies(has, want v1.Platform) bool {
	for _, p := range []*v1.Platform{&has, &want} {
		if p.Architecture == "arm64" && p.Variant == "v8" {
			p.Variant = ""
		}
	}
	return has.Satisfies(want)
}

// checkManifest refuses what brig cannot store, by name.
func checkManifest(m *v1.Manifest) error {
	if len(m.Layers) > maxLayers {
		return fmt.Errorf("it has %d layers: the maximum is %d", len(m.Layers), maxLayers)
	}
	if m.Config.MediaType == types.DockerPluginConfig {
		return fmt.Errorf("it is a plugin of docker, and no image")
	}

	var total int64
	for i, l := range m.Layers {
		switch {
		case len(l.URLs) > 0 || strings.Contains(string(l.MediaType), "foreign") ||
			strings.Contains(string(l.MediaType), "nondistributable"):
			return fmt.Errorf("layer %d is not in the registry, but to be fetched from elsewhere (%s): such images "+
				"are not supported", i+1, l.MediaType)
		case strings.Contains(string(l.MediaType), "+encrypted"):
			return fmt.Errorf("layer %d is encrypted: decrypt the image first", i+1)
		case !l.MediaType.IsLayer() && l.MediaType != types.OCILayerZStd:
			return fmt.Errorf("layer %d is a %.80q, and no layer: it is no image to run", i+1, l.MediaType)
		case l.Size < 0 || l.Size > maxBlobs-total:
			return fmt.Errorf("its layers have more than %d GiB", maxBlobs>>30)
		case l.Digest.Algorithm != "sha256":
			return fmt.Errorf("layer %d has a digest of %s: brig knows sha256", i+1, l.Digest.Algorithm)
		}

		total += l.Size
	}

	if m.Config.Size > maxConfig || m.Config.Size < 0 {
		return fmt.Errorf("its configuration has %d bytes: the maximum is %d", m.Config.Size, maxConfig)
	}
	return nil
}

// configure takes over what a configuration says. named is the platform by which an index named the
// image.
func (img *Image) configure(text []byte, platform v1.Platform, named string) error {
	if err := checkValues(text, "its configuration"); err != nil {
		return err
	}

	c, err := v1.ParseConfigFile(bytes.NewReader(text))
	if err != nil {
		return fmt.Errorf("parse configuration: %w", err)
	}
	if len(c.RootFS.DiffIDs) != len(img.Layers) {
		return fmt.Errorf("its manifest has %d layers, and its configuration %d", len(img.Layers), len(c.RootFS.DiffIDs))
	}

	for i, d := range c.RootFS.DiffIDs {
		if d.Algorithm != "sha256" {
			return fmt.Errorf("layer %d has a digest of %s: brig knows sha256", i+1, d.Algorithm)
		}
		img.Layers[i].DiffID = d.String()
	}

	is := v1.Platform{OS: c.OS, Architecture: c.Architecture, Variant: c.Variant}
	if platform.Variant == "" || is.Variant == "" {
		is.Variant = platform.Variant // many configurations leave it out
	}
	if !satisfies(is, platform) {
		if named != "" {
			return fmt.Errorf("its index says %s, and its configuration %s", named, is)
		}
		return fmt.Errorf("there is no %s in it: there is %s; choose it with --platform", platform, is)
	}

	img.Platform = v1.Platform{OS: c.OS, Architecture: c.Architecture, Variant: c.Variant}.String()
	img.Run = Run{Env: c.Config.Env, Entrypoint: c.Config.Entrypoint, Cmd: c.Config.Cmd,
		WorkingDir: c.Config.WorkingDir, User: c.Config.User}
	return nil
}
