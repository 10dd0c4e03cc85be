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

// PutBlob makes sure that the agent stores content, and returns the digest that runs name it by. It
// sends the content only if the agent does not have it yet.
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

// SendBlob makes the agent store the content of r. If its digest is another, nothing is stored.
func (c *Client) SendBlob(ctx context.Context, digest string, r io.Reader) error {
	return c.call(ctx, http.MethodPut, "/v1/blobs/"+digest, r, &struct{}{})
}

// GetBlob writes the content of a blob to a writer. If the agent does not hold it, or holds what has another digest, the
// error has CodeNoBlob; the writer may then have any content.
func (c *Client) GetBlob(ctx context.Context, digest string, to io.Writer) error {
	sum := sha256.New()
	if err := c.download(ctx, "/v1/blobs/"+digest, nil, io.MultiWriter(to, sum)); err != nil {
		return err
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != digest {
		return api.Refuse(api.CodeNoBlob, "the agent has other content for the blob %s, with the digest %s: send it again",
			digest, got)
	}
	return nil
}

// RemoveBlob makes the agent remove a blob. A blob that it does not have is no error.
func (c *Client) RemoveBlob(ctx context.Context, digest string) error {
	return c.call(ctx, http.MethodDelete, "/v1/blobs/"+digest, nil, nil)
}
