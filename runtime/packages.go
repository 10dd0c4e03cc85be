package runtime

import (
	"context"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/runtime/run"
)

// InstallPackages installs a set of packages, unless it is stored. Its error is an *api.Error.
func (h *Host) InstallPackages(ctx context.Context, r api.PackageRequest, s api.Streams,
	c api.Caller) (api.PackageSet, error) {
	set, err := h.packages.Install(ctx, r, s, c)
	if err != nil {
		return set, run.ToAPIError(h.log, err, "")
	}
	return set, nil
}

// PackageSets lists the sets that the caller may use. It reserves the memory for the list first.
func (h *Host) PackageSets(c api.Caller, reserve func(bytes int64) error) ([]api.PackageSet, error) {
	sets, err := h.packages.Sets(c, reserve)
	if err != nil {
		return nil, run.ToAPIError(h.log, err, "")
	}
	return sets, nil
}

// RemovePackageSet removes a set of the caller, or any if the caller is root.
func (h *Host) RemovePackageSet(key string, c api.Caller) error {
	if err := h.packages.Remove(key, c); err != nil {
		return run.ToAPIError(h.log, err, "")
	}
	return nil
}
