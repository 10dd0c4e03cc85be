package egress

import (
	"slices"
	"strings"

	"github.com/brig-sandbox/brig/api"
)

// maxListed bounds the hosts and the refusals that a result lists. What is beyond is counted
// together, under the name "...".
const maxListed = 64

// usage is what a run used of the network.
type usage struct {
	hosts             map[hostPort]*api.NetworkHost
	refused           map[api.NetworkRefusal]int64 // the keys have no count
	bytesIn, bytesOut int64
	connections       int64
}

type hostPort struct {
	name string
	port uint16
}

// host returns the entry of a host.
func (u *usage) host(name string, port uint16) *api.NetworkHost {
	if u.hosts == nil {
		u.hosts = map[hostPort]*api.NetworkHost{}
	}
	key := hostPort{name, port}
	if u.hosts[key] == nil && len(u.hosts) >= maxListed-1 {
		key = hostPort{name: "..."}
	}
	if u.hosts[key] == nil {
		u.hosts[key] = &api.NetworkHost{Name: key.name, Port: key.port}
	}
	return u.hosts[key]
}

// refuse counts a refusal.
func (u *usage) refuse(name string, port uint16, why string) {
	if u.refused == nil {
		u.refused = map[api.NetworkRefusal]int64{}
	}
	key := api.NetworkRefusal{Name: name, Port: port, Why: why}
	if u.refused[key] == 0 && len(u.refused) >= maxListed-1 {
		key = api.NetworkRefusal{Name: "...", Why: "more refusals"}
	}
	u.refused[key]++
}

// report is the usage as a result has it, sorted.
func (u *usage) report() api.NetworkUsage {
	out := api.NetworkUsage{
		Hosts: []api.NetworkHost{}, Refused: []api.NetworkRefusal{},
		BytesIn: u.bytesIn, BytesOut: u.bytesOut, Connections: u.connections,
	}
	for _, h := range u.hosts {
		out.Hosts = append(out.Hosts, *h)
	}

	for r, n := range u.refused {
		r.Count = n
		out.Refused = append(out.Refused, r)
	}

	slices.SortFunc(out.Hosts, func(a, b api.NetworkHost) int {
		if c := strings.Compare(a.Name, b.Name); c != 0 {
			return c
		}
		return int(a.Port) - int(b.Port)
	})

	slices.SortFunc(out.Refused, func(a, b api.NetworkRefusal) int {
		if c := strings.Compare(a.Name, b.Name); c != 0 {
			return c
		}
		if a.Port != b.Port {
			return int(a.Port) - int(b.Port)
		}
		return strings.Compare(a.Why, b.Why)
	})

	return out
}
