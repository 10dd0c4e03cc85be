package egress

import (
	"context"
	"fmt"
	"net"
	"net/netip"

	"github.com/brig-sandbox/brig/api"
)

// InstallPolicy is the policy of an installer: it reaches the index and nothing else. An index that the
// caller has chosen (own) may be on this host or in a private network: its addresses are looked up here,
// once. Of the default index of a language every address must be public.
func InstallPolicy(ctx context.Context, about api.LanguagePackages, index string) (Policy, error) {
	from, hosts, err := about.IndexFor(index)
	if err != nil {
		return Policy{}, err
	}

	p := Policy{Rules: hosts,
		Limits: Limits{BytesOut: 256 << 20, BytesIn: 8 << 30, Connections: 20_000, Simultaneous: 128}}
	own := index != "" && index != about.Index
	switch {
	case from.Host.Prefix.IsValid():
		p.Internal = []api.AllowRule{from.Host}
	case own:
		addrs, err := net.DefaultResolver.LookupNetIP(ctx, "ip4", from.Host.Host)
		if err != nil {
			return Policy{}, api.Fail(api.CodePackagesFailed, "the index %s cannot be reached: %w", from.URL, err)
		}

		for _, a := range addrs {
			rule, err := api.ParseAllow(fmt.Sprintf("%s:%d", a.Unmap(), from.Host.Ports[0]))
			if err != nil {
				return Policy{}, err
			}
			p.Internal = append(p.Internal, rule)
			p.Rules = append(p.Rules, rule) // a name such as localhost the installer may resolve itself
		}

		p.Lookup = func(ctx context.Context, name string) ([]netip.Addr, error) {
			if name == from.Host.Host {
				return addrs, nil // also of a name such as localhost, which has no DNS entry
			}
			return net.DefaultResolver.LookupNetIP(ctx, "ip", name+".")
		}
	}

	return p, nil
}
