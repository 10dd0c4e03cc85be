package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/brig-sandbox/brig/api"
)

const packagesPath = "/v1/packages"

// Packages returns a set of packages that the agent has stored. If it has none that serves the request,
// the error is packages-missing.
func (c *Client) Packages(ctx context.Context, r api.PackageRequest) (set api.PackageSet, err error) {
	err = c.call(ctx, http.MethodPost, packagesPath, r, &set)
	return set, err
}

// InstallPackages has a set of packages installed, unless it is stored. events.Network must relay the
// connections of the installer. An installer that fails is the error packages-failed, with the
// installer's words.
func (c *Client) InstallPackages(ctx context.Context, r api.PackageRequest, events Events) (api.PackageSet, error) {
	res, err := c.stream(ctx, packagesPath, r, nil, nil, windows{}, events)
	if err != nil {
		return api.PackageSet{}, err
	}
	if res.Packages == nil {
		return api.PackageSet{},
			api.Refuse(api.CodeAgentGone, "the agent's answer has no packages: is it older than this program?")
	}
	return *res.Packages, nil
}

// PackageSets lists the stored sets of packages that the caller may use.
func (c *Client) PackageSets(ctx context.Context) (sets []api.PackageSet, err error) {
	err = c.call(ctx, http.MethodGet, packagesPath, nil, &sets)
	return sets, err
}

// RemovePackages removes a set of packages of the caller; root may remove any.
func (c *Client) RemovePackages(ctx context.Context, key string) error {
	return c.call(ctx, http.MethodDelete, packagesPath+"/"+url.PathEscape(key), nil, &struct{}{})
}
