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

// PutBlob sees to it that the agent holds content, which is sent only if it does not
// yet, and returns the digest that a run names it by.
func (c *Client) PutBlob(ctx context.Context, content []byte) (digest string, err error) {
	sum := sha256.Sum256(content)
	digest = hex.EncodeToString(sum[:])
	path := "/v1/blobs/" + digest
	var refused *api.Error
	switch err := c.call(ctx, http.MethodHead, path, nil, nil); {
	case err == nil:
		return digest, nil
	case !errors.As(err, &refused) || refused.Code != api.CodeNotFound:
		return "", err
	}
	return digest, c.SendBlob(ctx, digest, bytes.NewReader(content))
}

// SendBlob has the agent keep what r holds, or nothing if its digest is another.
func (c *Client) SendBlob(ctx context.Context, digest string, r io.Reader) error {
	return c.call(ctx, http.MethodPut, "/v1/blobs/"+digest, r, &struct{}{})
}
