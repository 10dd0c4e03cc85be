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

// Connections that a listener has not accepted yet are charged to no group. A run may call listen
// ListenCalls times, each queue has QueueLength+1 connections, and each connection at most
// SocketBuffer unread bytes and a few KiB of its own. See runtime/netns and MEM-43.
const (
	ListenCalls  = 32
	QueueLength  = 16
	SocketBuffer = 64 * api.KiB

	relayed = 256 // connections in the queues of the caller's listeners, all together

	perQueued = SocketBuffer + 8*api.KiB
)

// NetlinkSockets is how many sockets of netlink a run may make: answers that are not read are charged to
// no group, up to net.core.rmem_default of the host (208 KiB unless an operator has changed it) and one
// more answer (MEM-45).
const (
	NetlinkSockets = 32

	perNetlink = 256 * api.KiB
)

// QueueOfCaller is the length of the queue of each of the caller's listeners, which it may leave
// unread: longer than those of the program, because all that the program reaches goes through them.
func QueueOfCaller(ports int) int { return max(QueueLength, relayed/(ports+1)) }

// networkMemory is what is reserved for the sockets of a run in addition to its memory: their buffers
// where these are counted apart, and what no group is charged for.
func networkMemory(n Network, pids, openFiles int64) api.Size {
	queued := ListenCalls * (QueueLength + 1)
	if ports := len(n.Ports); ports > 0 {
		queued += (ports + 1) * (QueueOfCaller(ports) + 1)
	}
	return SocketMemory + NetlinkSockets*perNetlink + api.Size(queued)*perQueued + api.Size(pids*openFiles)*perSocket
}

// network decides the network of a run. It has been validated.
func (pl *Planner) network(r api.Run, f *Policy, caller api.Caller) (*Network, error) {
	if r.Network == "" || r.Network == api.NetworkNone {
		return nil, nil
	}
	if caller.UID != 0 && !api.NetworkWithin(r.Network, pl.Network) {
		return nil, api.Refuse(api.CodeForbidden,
			"network %s is not offered by this agent: use none, or have the operator offer it (brigd --network %s)", r.Network,
			r.Network)
	}
	if len(r.Tests) > 0 {
		return nil, api.Refuse(api.CodeUnsupported,
			"a run with tests has no network: leave out network, or run the program once for each test")
	}
	if !allowsAny(f.Profile, "socket") {
		return nil, api.Refuse(api.CodeBadRequest,
			"profile %s allows no sockets, and network is %s: leave profile out, or use %s", f.Name, r.Network, NetworkTier)
	}

	rules, err := api.AllowRules(r.Allow)
	if err != nil {
		return nil, err
	}

	ports, err := api.NetworkPorts(r.Network, rules)
	return &Network{Ports: ports}, err
}
