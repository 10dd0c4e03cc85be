package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/brig-sandbox/brig/api"
)

// LinkRun makes a link to a run of this key, for somebody without a key. Only its answer has the token.
func (c *Client) LinkRun(ctx context.Context, run string, ask api.RunLinkRequest) (l api.RunLink, err error) {
	return l, c.call(ctx, http.MethodPost, linksPath(run), ask, &l)
}

// RunLinks lists the links to a run, without their tokens.
func (c *Client) RunLinks(ctx context.Context, run string) (p api.Page[api.RunLink], err error) {
	return p, c.call(ctx, http.MethodGet, linksPath(run), nil, &p)
}

// RevokeLink ends a link to a run, by the link's id.
func (c *Client) RevokeLink(ctx context.Context, run, link string) error {
	return c.call(ctx, http.MethodDelete, linksPath(run)+"/"+url.PathEscape(link), nil, nil)
}

// LinkedRun returns what a link shows of its run. It needs no key.
func (c *Client) LinkedRun(ctx context.Context, token string) (r api.LinkedRun, err error) {
	return r, c.call(ctx, http.MethodGet, "/v1/links/"+url.PathEscape(token), nil, &r)
}

func linksPath(run string) string { return "/v1/runs/" + url.PathEscape(run) + "/links" }
