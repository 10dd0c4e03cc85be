package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/brig-sandbox/brig/api"
)

// Volumes lists the caller's volumes. CreateSession makes them.
func (c *Client) Volumes(ctx context.Context) (all []api.Volume, err error) {
	err = c.call(ctx, http.MethodGet, "/v1/volumes", nil, &all)
	return all, err
}

// DeleteVolume removes a volume with its content. If a session has it, the error is conflict.
func (c *Client) DeleteVolume(ctx context.Context, name string) error {
	if err := api.VolumeName(name); err != nil {
		return err
	}
	return c.call(ctx, http.MethodDelete, "/v1/volumes/"+url.PathEscape(name), nil, &struct{}{})
}

// DeleteTemporaryVolume is DeleteVolume for the volume that belongs to a run. If run is empty, it is the same.
func (c *Client) DeleteTemporaryVolume(ctx context.Context, name, run string) error {
	if err := api.VolumeName(name); err != nil {
		return err
	}
	path := "/v1/volumes/" + url.PathEscape(name) + "?run=" + url.QueryEscape(run)
	return c.call(ctx, http.MethodDelete, path, nil, &struct{}{})
}
