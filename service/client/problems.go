package client

import (
	"context"
	"io"
	"net/http"
	"net/url"

	"github.com/brig-sandbox/brig/api"
)

// PutProblem stores the package of a problem under a name, and replaces one of this name. archive is a
// zip, tar, tar.gz or tar.zst. A package that is wrong changes nothing: the error has the code
// api.CodeBadProblem and says all that is wrong with it.
func (c *Client) PutProblem(ctx context.Context, name string, archive io.Reader) (p api.StoredProblem, err error) {
	res, err := c.do(ctx, http.MethodPut, problemPath(name), "application/octet-stream", archive)
	if err != nil {
		return p, err
	}
	return p, c.answer(res, &p)
}

// Problems lists the stored problems of the key, without their manifests.
func (c *Client) Problems(ctx context.Context) (p api.Page[api.StoredProblem], err error) {
	return p, c.call(ctx, http.MethodGet, "/v1/problems", nil, &p)
}

// Problem returns a stored problem by its name or digest.
func (c *Client) Problem(ctx context.Context, ref string) (p api.StoredProblem, err error) {
	return p, c.call(ctx, http.MethodGet, problemPath(ref), nil, &p)
}

// DeleteProblem removes a stored problem.
func (c *Client) DeleteProblem(ctx context.Context, name string) error {
	return c.call(ctx, http.MethodDelete, problemPath(name), nil, nil)
}

// VerifyProblem runs all programs of a stored problem and says whether it is right. It waits for as long as
// that takes.
func (c *Client) VerifyProblem(ctx context.Context, name string, r api.VerifyRequest) (v api.Verification, err error) {
	return v, c.call(ctx, http.MethodPost, problemPath(name)+"/verify", r, &v)
}

// RunRequest is Run of a request that may name a stored problem.
func (c *Client) RunRequest(ctx context.Context, r api.RunRequest) (res api.Result, err error) {
	return res, c.call(ctx, http.MethodPost, "/v1/runs", r, &res)
}

func problemPath(ref string) string { return "/v1/problems/" + url.PathEscape(ref) }
