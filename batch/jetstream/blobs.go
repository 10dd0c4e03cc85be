package jetstream

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"
)

// PutBlob keeps content in the engine under its digest. It waits while the engine does not answer.
func (e *Engine) PutBlob(ctx context.Context, content []byte) (digest string, err error) {
	sum := sha256.Sum256(content)
	digest = hex.EncodeToString(sum[:])
	return digest, e.retry(ctx, "keep contents", func(ctx context.Context) error {
		store, err := e.js.ObjectStore(ctx, blobsPrefix+e.pool)
		if err != nil {
			return err
		}
		if _, err := store.GetInfo(ctx, digest); err == nil {
			return nil
		}
		_, err = store.PutBytes(ctx, digest, content)
		return err
	})
}

// ErrNoBlob says that the engine has no content with a digest.
var ErrNoBlob = errors.New("the engine has no such content")

// Blob returns content by its digest. The digest is checked.
func (e *Engine) Blob(ctx context.Context, digest string) ([]byte, error) {
	store, err := e.js.ObjectStore(ctx, blobsPrefix+e.pool)
	if err != nil {
		return nil, err
	}

	content, err := store.GetBytes(ctx, digest)
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		return nil, ErrNoBlob
	}
	if err != nil {
		return nil, err
	}
	if sum := sha256.Sum256(content); hex.EncodeToString(sum[:]) != digest {
		return nil, fmt.Errorf("the content that the engine has for %s has another digest", digest)
	}
	return content, nil
}
