package serve

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/brig-sandbox/brig/agent/egress"
	"github.com/brig-sandbox/brig/api"
)

func (o *serveOptions) networkFlags(f *pflag.FlagSet) {
	f.StringVar(&o.network, "network", api.NetworkNone,
		"most `NETWORK` that runs may request: none, loopback, allow or public; a key gets none unless its line sets network")
	f.StringSliceVar(&o.egressAllow, "egress-allow", nil,
		"`HOST` that runs may list in allow: a name, *.DOMAIN, an address or ADDRESS/BITS, each with :PORT or "+
			"without (80 and 443) (repeatable; default: any host)")
	f.StringSliceVar(&o.egressInternal, "egress-internal", nil,
		"`ADDRESS:PORT` or ADDRESS/BITS:PORT of your own networks or of this host that runs with network may reach; "+
			"all others are refused (repeatable)")
}

// egressRules parses the flags that bound what runs reach.
func (o serveOptions) egressRules() (allow, internal []api.AllowRule, err error) {
	switch {
	case !slices.Contains(api.Networks(), o.network):
		return nil, nil, fmt.Errorf("--network %q does not exist: use %s", o.network, strings.Join(api.Networks(), ", "))
	case o.network == api.NetworkPublic && len(o.egressAllow) > 0:
		return nil, nil, fmt.Errorf("--network public offers every public host, and --egress-allow lists hosts: use " +
			"--network allow, or leave --egress-allow out")
	}

	for _, entry := range o.egressAllow {
		r, err := api.ParseAllow(entry)
		if err != nil {
			return nil, nil, fmt.Errorf("--egress-allow: %w", err)
		}
		allow = append(allow, r)
	}

	for _, entry := range o.egressInternal {
		r, err := egress.ParseInternal(entry)
		if err != nil {
			return nil, nil, fmt.Errorf("--egress-internal: %w", err)
		}
		internal = append(internal, r)
	}

	return allow, internal, nil
}

// privateAgentArgs are the flags of an agent that the service starts: it must offer what the service
// does.
func (o serveOptions) privateAgentArgs() []string {
	args := []string{"--network=" + o.network}
	if o.offersPackages() {
		args = append(args, "--packages")
	}
	return append(args, o.agentArgs...)
}
