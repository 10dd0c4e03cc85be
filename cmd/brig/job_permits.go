package main

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/spf13/pflag"

	"github.com/brig-sandbox/brig/api"
)

// jobPermits are what jobs may ask for beyond their limits. The command line says it, because the author of a line of
// jobs may be a stranger (BAT-01): a job's connections are those of this machine.
type jobPermits struct {
	network  string
	packages bool
	indexes  []string
}

func (p *jobPermits) register(f *pflag.FlagSet) {
	f.StringVar(&p.network, "network", api.NetworkLoopback,
		"highest network `LEVEL` that jobs may request: none, loopback, allow or public")
	f.BoolVar(&p.packages, "packages", false, "permit jobs with requirements, whose packages this machine downloads")
	f.StringSliceVar(&p.indexes, "index", nil,
		"with --packages: `URL` of a package index that jobs may name, besides that of the language (repeatable)")
}

// networks are the networks that a run can ask for. Each one permits those before it.
var networks = []string{api.NetworkNone, api.NetworkLoopback, api.NetworkAllow, api.NetworkPublic}

func (p *jobPermits) check() error {
	switch {
	case !slices.Contains(networks, p.network):
		return fmt.Errorf("--network %s: write none, loopback, allow or public", p.network)
	case len(p.indexes) > 0 && !p.packages:
		return fmt.Errorf("--index %s: it is for jobs with packages: add --packages", p.indexes[0])
	}
	return nil
}

// refuse refuses a job that asks for more. It is worker.Worker.Refuse.
func (p *jobPermits) refuse(r api.Run) error {
	switch {
	case slices.Index(networks, cmp.Or(r.Network, api.NetworkNone)) > slices.Index(networks, p.network):
		return api.Refuse(api.CodeForbidden,
			"the job asks for the network %s, and this machine permits %s: see --network of brig batch and brig worker",
			r.Network, p.network)
	case len(r.Requirements) > 0 && !p.packages:
		return api.Refuse(api.CodeForbidden,
			"the job asks for packages, and this machine permits none: see --packages of brig batch and brig worker")
	case r.Index != "" && !slices.Contains(p.indexes, r.Index):
		return api.Refuse(api.CodeForbidden,
			"the job names the package index %.200q, which this machine does not permit: see --index of brig batch and brig worker", r.Index)
	}

	return nil
}

// refuseHost is batch.Coordinator.Permit: the fields of a line that only root may set at an agent are not for the author
// of a line, also if root runs brig. Those of the command line are.
func refuseHost(r api.Run) error {
	field := ""
	switch {
	case r.ProfileMode != "" && r.ProfileMode != api.Enforce:
		field = "profile_mode"
	case len(r.ProfileRules) > 0:
		field = "profile_rules"
	case r.Limits.Cpuset != "" || r.CompileLimits.Cpuset != "":
		field = "cpuset"
	default:
		return nil
	}
	return api.Refuse(api.CodeForbidden, "a job of a batch sets no %s: only the command line of brig does", field)
}
