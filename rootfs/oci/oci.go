// Package oci finds images in registries and in files, and reads their layers. It runs in an
// unprivileged process (ChildMain): what it reads comes from anywhere. The process that started it gets
// the bytes of the image's documents, which it hashes and reads itself, and uncompressed layers, whose
// digests the agent checks.
package oci

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// An Image is the description of an image.
type Image struct {
	Reference string // as the registry or the file names it
	Manifest  string // digest
	Config    string // digest
	Platform  string // such as linux/amd64
	Run       Run
	Layers    []Layer // lowest first
}

// A Run is what the image's configuration says about running it.
type Run struct {
	Env        []string
	Entrypoint []string
	Cmd        []string
	WorkingDir string
	User       string
}

// A Layer is one layer of an image.
type Layer struct {
	DiffID string // digest of the uncompressed tar
	Blob   string // digest of the layer as it is stored, or the name of a file
	Size   int64  // of the blob
}

// Bounds on what is read before its digest is known.
const (
	maxManifest = 4 << 20
	maxConfig   = 1 << 20
	maxLayers   = 128
	maxBlobs    = 8 << 30 // all layers together, as they are stored
)

// ErrNotFound is wrapped by the error for an image that a source does not have.
var ErrNotFound = errors.New("no such image")

// A source has images.
type source interface {
	// manifest reads the manifest or index that is the image, or one that an index names by digest.
	// The digest of what it returns is checked if it is known.
	manifest(ctx context.Context, digest string) (text []byte, err error)
	// config reads a configuration. Its digest is not checked yet.
	config(ctx context.Context, d descriptor) ([]byte, error)
	// layer opens a layer as it is stored. Its digest has been checked, or will be by the agent, as
	// that of the uncompressed layer.
	layer(ctx context.Context, l Layer) (io.ReadCloser, error)
	// forget is called when the agent has the layer, or will never have it. A download is removed.
	forget(l Layer) error
}

// readBounded reads all of r, at most maximum bytes.
func readBounded(r io.Reader, maximum int64, what string) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, maximum+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", what, err)
	}
	if int64(len(text)) > maximum {
		return nil, fmt.Errorf("%s is larger than %d bytes", what, maximum)
	}
	return text, nil
}
