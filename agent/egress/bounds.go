package egress

import (
	"fmt"
	"slices"
	"strings"

	"github.com/brig-sandbox/brig/api"
)

// Within reports whether all that a rule allows is also allowed by others. If not, port is one that is
// not.
func Within(r api.AllowRule, maximum []api.AllowRule) (port uint16, ok bool) {
	for _, port := range r.Ports {
		if !slices.ContainsFunc(maximum,
			func(m api.AllowRule) bool { return slices.Contains(m.Ports, port) && includes(m, r) }) {
			return port, false
		}
	}
	return 0, true
}

// includes reports whether a rule allows each host that another one allows, whatever the ports.
func includes(m, r api.AllowRule) bool {
	switch {
	case r.Prefix.IsValid():
		return m.Prefix.IsValid() && m.Prefix.Bits() <= r.Prefix.Bits() && m.Prefix.Contains(r.Prefix.Addr())
	case m.Host == "":
		return false
	case m.Below:
		return strings.HasSuffix(r.Host, "."+m.Host) || r.Below && r.Host == m.Host
	}
	return !r.Below && r.Host == m.Host
}

// ParseInternal parses an entry of Policy.Internal: ADDRESS:PORT or ADDRESS/BITS:PORT.
func ParseInternal(entry string) (api.AllowRule, error) {
	r, err := api.ParseAllow(entry)
	if err == nil && (!r.Prefix.IsValid() || !strings.Contains(entry, ":")) {
		err = fmt.Errorf("%.80q: write ADDRESS:PORT or ADDRESS/BITS:PORT: a name could be given another address", entry)
	}
	return r, err
}
