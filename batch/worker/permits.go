package worker

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/brig-sandbox/brig/api"
)

// Permits are what jobs may ask for beyond their limits. The command line says it, because the author of a line of
// jobs may be a stranger (BAT-01): a job's connections are those of this machine.
type Permits struct {
	Network  string   // the highest level
	Packages bool     // whether this machine downloads them
	Indexes  []string // of packages, besides that of the language
}

// networks are the networks that a run can ask for. Each one permits those before it.
var networks = []string{api.NetworkNone, api.NetworkLoopback, api.NetworkAllow, api.NetworkPublic}

// Check refuses permits that contradict themselves, by the flag that sets them.
func (p Permits) Check() error {
	switch {
	case !slices.Contains(networks, p.Network):
		return fmt.Errorf("--network %s: write none, loopback, allow or public", p.Network)
	case len(p.Indexes) > 0 && !p.Packages:
		return fmt.Errorf("--index %s: it is for jobs with packages: add --packages", p.Indexes[0])
	}
	return nil
}

// Refuse refuses a job that asks for more. It is Worker.Refuse.
func (p Permits) Refuse(r api.Run) error {
	switch {
	case slices.Index(networks, cmp.Or(r.Network, api.NetworkNone)) > slices.Index(networks, p.Network):
		return api.Refuse(api.CodeForbidden,
			"the job asks for the network %s, and this machine permits %s: see --network of brig batch and brig worker",
			r.Network, p.Network)
	case len(r.Requirements) > 0 && !p.Packages:
		return api.Refuse(api.CodeForbidden,
			"the job asks for packages, and this machine permits none: see --packages of brig batch and brig worker")
	case r.Index != "" && !slices.Contains(p.Indexes, r.Index):
		return api.Refuse(api.CodeForbidden,
			"the job names the package index %.200q, which this machine does not permit: "+
				"see --index of brig batch and brig worker", r.Index)
	}

	return nil
}
