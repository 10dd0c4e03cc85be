// Package egress relays the connections of a run with network. It runs in the process that asked for
// the run, without root: brig serve, brig run as its user, or, if that is root, in a child process of
// brig run. The run has a network namespace of its own in which every connection arrives at a
// socket of this package (runtime/netns). The package answers names that the policy allows, checks
// what they resolve to, connects to that very address, counts and bounds.
package egress

import (
	"context"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// A Policy says what a run may reach.
type Policy struct {
	Public   bool            // every public host, on api.DefaultPorts
	Rules    []api.AllowRule // in addition
	Internal []api.AllowRule // ranges of addresses that are not refused, although they are reserved or of this host
	Limits   Limits          // zero fields: defaults

	// Lookup resolves a name outside the run; nil: the resolver of this host.
	Lookup func(ctx context.Context, name string) ([]netip.Addr, error)
}

// Limits bound what one run may take of the network and of this process.
type Limits struct {
	BytesOut       int64         // that it sends in all
	BytesIn        int64         // that it receives in all
	Connections    int64         // that it opens in all
	Simultaneous   int           // open connections
	Names          int           // different names that it may ask for
	DialTimeout    time.Duration // for a connection to a host, with the look-up of its name
	ServerNameWait time.Duration // for the first message of TLS
}

// DefaultLimits are the limits of a run whose caller sets none.
func DefaultLimits() Limits {
	return Limits{
		BytesOut: 64 << 20, BytesIn: 256 << 20, Connections: 1000, Simultaneous: 64, Names: 4096,
		DialTimeout: 10 * time.Second, ServerNameWait: 5 * time.Second,
	}
}

// Over returns l with the zero fields from def.
func (l Limits) Over(def Limits) Limits {
	set := func(v *int64, d int64) {
		if *v == 0 {
			*v = d
		}
	}

	set(&l.BytesOut, def.BytesOut)
	set(&l.BytesIn, def.BytesIn)
	set(&l.Connections, def.Connections)
	if l.Simultaneous == 0 {
		l.Simultaneous = def.Simultaneous
	}
	if l.Names == 0 {
		l.Names = def.Names
	}
	if l.DialTimeout == 0 {
		l.DialTimeout = def.DialTimeout
	}
	if l.ServerNameWait == 0 {
		l.ServerNameWait = def.ServerNameWait
	}
	return l
}

// allowsName reports whether a host may be asked for by name, on any port.
func (p Policy) allowsName(name string) bool {
	return isHostName(name) &&
		(p.Public || slices.ContainsFunc(p.Rules, func(r api.AllowRule) bool { return matches(r, name) }))
}

// lists reports whether a rule is for this very name.
func (p Policy) lists(name string) bool {
	return slices.ContainsFunc(p.Rules, func(r api.AllowRule) bool { return r.Host == name && !r.Below })
}

// ports are the ports on which a host may be reached by name.
func (p Policy) ports(name string) (all []uint16) {
	if p.Public {
		all = append(all, api.DefaultPorts()...)
	}
	for _, r := range p.Rules {
		if matches(r, name) {
			all = append(all, r.Ports...)
		}
	}
	return all
}

// isHostName reports whether a name, in lower case, can be the name of a host. A DNS message may have
// any bytes in a name: without this check, "8.8.8.8%x.example.org" would match the rule
// *.example.org, and a resolver that takes it for an address with a zone would reach 8.8.8.8
// (TestNamesThatAreAddresses).
func isHostName(name string) bool {
	if len(name) > 253 {
		return false
	}
	if _, err := netip.ParseAddr(name); err == nil {
		return false
	}
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > 63 || strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return false
		}
	}
	return true
}

// allowsHost reports whether a host may be reached by name on a port.
func (p Policy) allowsHost(name string, port uint16) bool {
	if !isHostName(name) {
		return false
	}
	if p.Public && slices.Contains(api.DefaultPorts(), port) {
		return true
	}
	return slices.ContainsFunc(p.Rules,
		func(r api.AllowRule) bool { return matches(r, name) && slices.Contains(r.Ports, port) })
}

// allowsAddress reports whether an address may be reached without a name.
func (p Policy) allowsAddress(a netip.AddrPort) bool {
	if p.Public && slices.Contains(api.DefaultPorts(), a.Port()) {
		return true
	}
	return inRange(p.Rules, a)
}

// inRange reports whether a rule lists an address by number.
func inRange(rules []api.AllowRule, a netip.AddrPort) bool {
	return slices.ContainsFunc(rules, func(r api.AllowRule) bool {
		return r.Prefix.IsValid() && r.Prefix.Contains(a.Addr()) && slices.Contains(r.Ports, a.Port())
	})
}

// matches reports whether a rule names a host.
func matches(r api.AllowRule, name string) bool {
	switch {
	case r.Host == "":
		return false
	case r.Below:
		return strings.HasSuffix(name, "."+r.Host)
	}
	return name == r.Host
}

// reserved are the ranges of addresses that no host of the Internet has, or that lead somewhere
// else than they say (RFC 6890 and its registry; RFC 6052 for 64:ff9b::/96).
var reserved = func() (all []netip.Prefix) {
	for _, s := range []string{
		"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
		"192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
		"224.0.0.0/4", "240.0.0.0/4",
		"::/128", "::1/128", "::/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32",
		"2002::/16", "3fff::/20",
		"5f00::/16", "fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8",
	} {
		all = append(all, netip.MustParsePrefix(s))
	}
	return all
}()

// refusalOf says why an address must not be reached; empty: it may. own reports addresses of this
// host.
func (p Policy) refusalOf(a netip.AddrPort, own func(netip.Addr) bool) string {
	addr := a.Addr().Unmap()
	if inRange(p.Internal, netip.AddrPortFrom(addr, a.Port())) {
		return ""
	}
	if own(addr) {
		return "it is an address of this host"
	}

	for _, r := range reserved {
		if r.Contains(addr) {
			return "its address " + addr.String() + " is in the reserved range " + r.String()
		}
	}

	return ""
}
