// Package packages has the agent install the packages that runs and sessions ask for.
package packages

import (
	"context"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/core"
)

// packageTries is how often a request has packages installed: others may remove them in between.
const packageTries = 3

// With has do send a request that may need packages. If they are missing, it has them installed,
// which takes a slot of its own meanwhile, and has do send the request again.
func With[T any](ctx context.Context, i *Installations, c core.Caller, r api.PackageRequest,
	do func() (T, error)) (T, error) {
	for try := 1; ; try++ {
		res, err := do()
		if !api.HasCode(err, api.CodePackagesMissing) || try == packageTries {
			return res, err
		}
		if err := i.Ensure(ctx, c, r); err != nil {
			return res, err
		}
	}
}

// PackagesView returns a set of packages as a key may see it; nil: there is none. All keys share the
// sets: none learns when others had packages installed or used them, nor the address of the operator's
// own index (TestKeysDoNotLearnWhenOthersUsePackages).
func PackagesView(s *api.PackageSet) *api.PackageSet {
	if s == nil {
		return nil
	}
	v := *s
	v.Index, v.Owner, v.Created, v.Used = "", 0, "", ""
	return &v
}
