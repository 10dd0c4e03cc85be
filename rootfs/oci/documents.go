package oci

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// The documents of an image are its index, its manifest and its configuration. The child sends their
// bytes, and no conclusions: its parent hashes and reads them again, so that a child which has been taken
// over cannot pass another image for one that is pinned by its digest (IMG-42).
type documents map[string][]byte

// Names of documents. One that an index or a manifest names has its digest for a name.
const (
	firstDocument = "" // what the reference, or index.json, leads to
	savedManifest = "manifest.json"
	savedConfig   = "configuration" // that manifest.json names
)

// maxDocuments is an index, a manifest and a configuration.
const maxDocuments = 3

// A recording is a source that remembers the documents that were read.
type recording struct {
	source
	read documents
}

func (r recording) manifest(ctx context.Context, digest string) ([]byte, error) {
	text, err := r.source.manifest(ctx, digest)
	if err == nil {
		r.read[digest] = text
	}
	return text, err
}

func (r recording) config(ctx context.Context, d descriptor) ([]byte, error) {
	text, err := r.source.config(ctx, d)
	if err == nil {
		r.read[d.Digest.String()] = text
	}
	return text, err
}

// A received source has the documents that a child sent, and no layers.
type received struct {
	source
	documents
}

func (r received) manifest(_ context.Context, digest string) ([]byte, error) {
	return r.get(digest, maxManifest)
}

func (r received) config(_ context.Context, d descriptor) ([]byte, error) {
	return r.get(d.Digest.String(), maxConfig)
}

func (d documents) get(name string, maximum int) ([]byte, error) {
	text, ok := d[name]
	if !ok || len(text) > maximum {
		return nil, fmt.Errorf("%w: document %q is missing or too large", errProtocol, name)
	}
	return text, nil
}

// describe concludes from the documents which image they describe. It is what the parent believes.
func (d documents) describe(r Request) (Image, error) {
	platform, err := parsePlatform(r.Platform)
	if err != nil {
		return Image{}, err
	}
	if text, ok := d[savedManifest]; ok && r.Reference == "" {
		return describeSaved(text, d[savedConfig], platform)
	}
	if r.Reference == "" {
		return find(context.Background(), received{documents: d}, platform)
	}

	ref, err := parseReference(r.Reference, r.Insecure)
	if err != nil {
		return Image{}, err
	}
	if pin, ok := ref.(name.Digest); ok {
		if err := checkDigest(d[firstDocument], pin.DigestStr(), "manifest"); err != nil {
			return Image{}, err
		}
	}

	img, err := find(context.Background(), received{documents: d}, platform)
	img.Reference = ref.Name()
	return img, err
}

func parseReference(reference string, insecure bool) (name.Reference, error) {
	var options []name.Option
	if insecure {
		options = append(options, name.Insecure)
	}
	ref, err := name.ParseReference(reference, options...)
	if err != nil {
		return nil, fmt.Errorf("%q is no name of an image: %w", reference, err)
	}
	return ref, nil
}

// FullReference returns a reference with everything that it leaves out.
func FullReference(reference string) (string, error) {
	ref, err := parseReference(reference, false)
	if err != nil {
		return "", err
	}
	return ref.Name(), nil
}

// describeSaved concludes which image an archive of docker save before version 25 has. Where the name of
// its configuration is a digest, it is checked: manifest.json says no other.
func describeSaved(text, config []byte, platform v1.Platform) (Image, error) {
	saved, err := parseSaved(text)
	if err != nil {
		return Image{}, err
	}
	if m := digestName().FindStringSubmatch(saved.Config); m != nil {
		if err := checkDigest(config, "sha256:"+m[1], "configuration"); err != nil {
			return Image{}, err
		}
	}

	img := Image{Manifest: digestOf(text), Config: digestOf(config), Layers: make([]Layer, len(saved.Layers))}
	if len(saved.RepoTags) > 0 {
		img.Reference = saved.RepoTags[0]
	}
	return img, img.configure(config, platform, "")
}

// send sends the documents in the order of their names.
func (d documents) send(to *sender) error {
	for _, name := range slices.Sorted(maps.Keys(d)) {
		if err := to.send(frameDocument, []byte(name)); err != nil {
			return err
		}
		for part := range slices.Chunk(d[name], maxFrame) {
			if err := to.send(frameData, part); err != nil {
				return err
			}
		}
		if err := to.send(frameEnd, nil); err != nil {
			return err
		}
	}

	return nil
}

// receive reads one document, whose name has n bytes.
func (d documents) receive(c *Receiver, n int) error {
	if n > maxName || len(d) == maxDocuments {
		return fmt.Errorf("%w: a document too many, or a name of %d bytes", errProtocol, n)
	}
	name := make([]byte, n)
	if _, err := io.ReadFull(c.r, name); err != nil {
		return fmt.Errorf("%w: %w", errProtocol, err)
	}
	text, err := readBounded(&layerReader{c: c}, maxManifest, "a document")
	d[string(name)] = text
	return err
}

// SameOrigin reports whether two full references name one image of one repository: the same tag, or one
// of them a digest.
func SameOrigin(a, b string) bool {
	x, err := parseReference(a, false)
	y, err2 := parseReference(b, false)
	if err != nil || err2 != nil {
		return false
	}
	_, pinned := x.(name.Digest)
	_, pinned2 := y.(name.Digest)
	return x.Context() == y.Context() && (pinned || pinned2 || x.Identifier() == y.Identifier())
}
