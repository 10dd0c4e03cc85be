package plan

import (
	"github.com/brig-sandbox/brig/api"
)

// NetworkTier is the profile of a run with network that names none.
const NetworkTier = "network"

// SocketMemory bounds the buffers of a run's sockets where the kernel counts them apart from its memory
// (cgroup v1, memory.kmem.tcp).
const SocketMemory = 16 * api.MiB

// perSocket is the kernel memory of one socket that no group is charged for, at most (make
// kernel-memory: 3.7 KiB with full UDP sockets).
const perSocket = 4 * api.KiB

// networkMemory is what is reserved for the sockets of a run in addition to its memory: their buffers
// where these are counted apart, and what no group is charged for.
func networkMemory(pids, openFiles int64) api.Size {
	return SocketMemory + api.Size(pids*openFiles)*perSocket
}

// network decides the network of a run. It has been validated.
func (pl *Planner) network(r api.Run, f *Policy, caller api.Caller) (*Network, error) {
	if r.Network == "" || r.Network == api.NetworkNone {
		return nil, nil
	}
	if caller.UID != 0 && !api.NetworkWithin(r.Network, pl.Network) {
		return nil, api.Refuse(api.CodeForbidden, "network %s is not offered by this agent: use none, or have the operator offer it (brigd --network %s)", r.Network, r.Network)
	}
	if len(r.Tests) > 0 {
		return nil, api.Refuse(api.CodeUnsupported, "a run with tests has no network: leave out network, or run the program once for each test")
	}
	if !allowsAny(f.Profile, "socket") {
		return nil, api.Refuse(api.CodeBadRequest, "profile %s allows no sockets, and network is %s: leave profile out, or use %s", f.Name, r.Network, NetworkTier)
	}
	rules, err := api.AllowRules(r.Allow)
	if err != nil {
		return nil, err
	}
	ports, err := api.NetworkPorts(r.Network, rules)
	return &Network{Ports: ports}, err
}
