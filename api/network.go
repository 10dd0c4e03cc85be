package api

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// The values of Run.Network. Empty is NetworkNone.
const (
	NetworkNone     = "none"     // a loopback interface that is down
	NetworkLoopback = "loopback" // a loopback interface: the run's own processes reach each other
	NetworkAllow    = "allow"    // in addition the hosts that Run.Allow lists
	NetworkPublic   = "public"   // in addition every public host, on the ports 80 and 443
)

// Networks lists the values of Run.Network, from least to most.
func Networks() []string {
	return []string{NetworkNone, NetworkLoopback, NetworkAllow, NetworkPublic}
}

// NetworkWithin reports whether a network is at most another one; an empty one is none.
func NetworkWithin(network, maximum string) bool {
	if network == "" {
		network = NetworkNone
	}
	if maximum == "" {
		maximum = NetworkNone
	}
	return slices.Index(Networks(), network) <= slices.Index(Networks(), maximum)
}

// DefaultPorts are the ports of an entry of Allow that names none, and of network public.
func DefaultPorts() []uint16 { return []uint16{80, 443} }

// The bounds of Run.Allow.
const (
	AllowMax     = 256 // entries
	AllowPortMax = 64  // different ports
)

// An AllowRule is one entry of Run.Allow: a host, every host below a domain, or a range of
// addresses, with the ports that may be reached there.
type AllowRule struct {
	Host     string       // a name in lower case; empty: Prefix
	Below    bool         // every name below Host, and not Host itself
	Prefix   netip.Prefix // of literal addresses; invalid: Host
	Ports    []uint16
	original string
}

// String is the entry as it was written.
func (r AllowRule) String() string { return r.original }

// ParseAllow parses an entry of Run.Allow: HOST, *.DOMAIN, ADDRESS or ADDRESS/BITS, each with :PORT or
// without.
func ParseAllow(entry string) (AllowRule, error) {
	r := AllowRule{original: entry, Ports: DefaultPorts()}
	bad := func(why string) (AllowRule, error) {
		return AllowRule{}, Refuse(CodeBadRequest,
			"allow %.80q: %s: write HOST, *.DOMAIN, ADDRESS or ADDRESS/BITS, each with or without :PORT", entry, why)
	}
	host := entry
	if i := strings.LastIndexByte(entry, ':'); i >= 0 {
		port, err := strconv.ParseUint(entry[i+1:], 10, 16)
		if err != nil || port == 0 {
			return bad("the port must be a number from 1 to 65535")
		}
		host, r.Ports = entry[:i], []uint16{uint16(port)}
	}

	switch {
	case strings.Contains(entry, "://") || strings.Contains(host, "/") && !strings.Contains(host, "."):
		return bad("a URL is no host")
	case strings.ContainsAny(host, ":[]"):
		return bad("IPv6 addresses are not offered")
	}

	if prefix, ok := addressRange(host); ok {
		r.Prefix = prefix.Masked()
		return r, nil
	}

	host, r.Below = strings.CutPrefix(strings.ToLower(host), "*.")
	if why := hostNameError(host); why != "" {
		return bad(why)
	}

	r.Host = strings.TrimSuffix(host, ".")
	return r, nil
}

// addressRange parses an IPv4 address, or a range of them.
func addressRange(s string) (netip.Prefix, bool) {
	if a, err := netip.ParseAddr(s); err == nil && a.Is4() {
		return netip.PrefixFrom(a, 32), true
	}
	p, err := netip.ParsePrefix(s)
	return p, err == nil && p.Addr().Is4()
}

// hostNameError says what is wrong with a host name; empty: nothing. Names of digits and dots are
// refused: some resolvers take them for addresses (127.1, 0x7f000001).
func hostNameError(name string) string {
	name = strings.TrimSuffix(name, ".")
	labels := strings.Split(name, ".")
	switch {
	case name == "":
		return "the name is empty"
	case len(name) > 253:
		return "the name is longer than 253 characters"
	}

	for _, l := range labels {
		if l == "" || len(l) > 63 {
			return "a part of the name is empty or longer than 63 characters"
		}
		for _, c := range l {
			switch {
			case c > 0x7f:
				return "a name outside ASCII must be written in its xn-- form"
			case c != '-' && c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z'):
				return "a name has letters, digits, - and _ only"
			}
		}
	}

	last := labels[len(labels)-1]
	if last[0] >= '0' && last[0] <= '9' {
		return "a name does not end in a number"
	}
	return ""
}

// AllowRules parses the list of a request.
func AllowRules(entries []string) ([]AllowRule, error) {
	if len(entries) > AllowMax {
		return nil, Refuse(CodeBadRequest, "allow has %d entries: the maximum is %d", len(entries), AllowMax)
	}
	var rules []AllowRule
	for _, e := range entries {
		r, err := ParseAllow(e)
		if err != nil {
			return nil, err
		}
		rules = append(rules, r)
	}
	return rules, nil
}

// NetworkPorts returns the ports on which a run can reach hosts, sorted; none for a network without
// hosts.
func NetworkPorts(network string, rules []AllowRule) ([]uint16, error) {
	var ports []uint16
	if network == NetworkPublic {
		ports = DefaultPorts()
	}

	for _, r := range rules {
		ports = append(ports, r.Ports...)
	}

	slices.Sort(ports)
	ports = slices.Compact(ports)
	if len(ports) > AllowPortMax {
		return nil, Refuse(CodeBadRequest, "allow names %d different ports: the maximum is %d", len(ports), AllowPortMax)
	}
	if slices.Contains(ports, 53) {
		return nil, Refuse(CodeBadRequest,
			"allow names port 53, on which the run's resolver listens: leave it out, names are resolved anyway")
	}
	return ports, nil
}

// validateNetwork checks the network of a request.
func validateNetwork(network string, allow []string) error {
	switch {
	case network != "" && !slices.Contains(Networks(), network):
		return Refuse(CodeBadRequest, "network %.80q does not exist: use %s", network, strings.Join(Networks(), ", "))
	case len(allow) > 0 && network != NetworkAllow && network != NetworkPublic:
		return Refuse(CodeBadRequest, "allow lists hosts, and network is %q: set it to allow", network)
	case len(allow) == 0 && network == NetworkAllow:
		return Refuse(CodeBadRequest, "network is allow, and allow lists no host: list some, or use none, loopback or public")
	}

	rules, err := AllowRules(allow)
	if err != nil {
		return err
	}

	_, err = NetworkPorts(network, rules)
	return err
}

// A NetworkUsage says what a run reached and tried to reach. The program that asked for the run
// counts it: the agent does not see it.
type NetworkUsage struct {
	Hosts       []NetworkHost    `json:"hosts" doc:"what the run reached, at most 64 entries"`
	Refused     []NetworkRefusal `json:"refused" doc:"what it was refused, at most 64 entries"`
	BytesIn     int64            `json:"bytes_in" doc:"bytes that the run received"`
	BytesOut    int64            `json:"bytes_out" doc:"bytes that the run sent"`
	Connections int64            `json:"connections" doc:"connections that it opened"`
}

// A NetworkHost is one host and port that a run reached.
type NetworkHost struct {
	Name        string `json:"name" doc:"the name that the run asked for, or the address"`
	Port        uint16 `json:"port" doc:"the port"`
	Connections int64  `json:"connections" doc:"connections to it"`
	BytesIn     int64  `json:"bytes_in" doc:"bytes received from it"`
	BytesOut    int64  `json:"bytes_out" doc:"bytes sent to it"`
}

// A NetworkRefusal is something that a run tried to reach and was not let.
type NetworkRefusal struct {
	Name  string `json:"name" doc:"the name or address"`
	Port  uint16 `json:"port,omitempty" doc:"the port; none: the name itself was refused"`
	Why   string `json:"why" doc:"the reason"`
	Count int64  `json:"count" doc:"how often"`
}
