package client

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"

	"github.com/brig-sandbox/brig/api"
)

// HasBlob asks whether the agent holds a blob.
func (c *Client) HasBlob(ctx context.Context, digest string) (bool, error) {
	err := c.call(ctx, http.MethodHead, "/v1/blobs/"+digest, nil, nil)
	var refused *api.Error
	if errors.As(err, &refused) && refused.Code == api.CodeNotFound {
		return false, nil
	}
	return err == nil, err
}

// PutBlob sees to it that the agent holds content, which is sent only if it does not
// yet, and returns the digest that a run names it by.
func (c *Client) PutBlob(ctx context.Context, content []byte) (digest string, err error) {
	sum := sha256.Sum256(content)
	digest = hex.EncodeToString(sum[:])
	switch has, err := c.HasBlob(ctx, digest); {
	case err != nil:
		return "", err
	case has:
		return digest, nil
	}
	return digest, c.SendBlob(ctx, digest, bytes.NewReader(content))
}

// SendBlob has the agent keep what r holds, or nothing if its digest is another.
func (c *Client) SendBlob(ctx context.Context, digest string, r io.Reader) error {
	return c.call(ctx, http.MethodPut, "/v1/blobs/"+digest, r, &struct{}{})
}

// RemoveBlob has the agent remove a blob; one that it does not hold is fine.
func (c *Client) RemoveBlob(ctx context.Context, digest string) error {
	return c.call(ctx, http.MethodDelete, "/v1/blobs/"+digest, nil, nil)
}
