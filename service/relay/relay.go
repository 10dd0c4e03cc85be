// Package relay makes the connections of one run, or of one installer, that the agent executes.
package relay

import (
	"errors"
	"os"
	"sync"

	"github.com/brig-sandbox/brig/agent/egress"
	"github.com/brig-sandbox/brig/api"
)

// A Network relays the network of one run, or of one installer, that the agent executes: from the
// arrival of its sockets until close. If it cannot, it cancels the run.
type Network struct {
	policy  egress.Policy
	sockets int    // that the agent sends
	cancel  func() // cancels the run

	mu     sync.Mutex
	relay  *egress.Relay // guarded by mu; nil: there are no sockets yet
	closed bool          // guarded by mu
	err    error         // guarded by mu
}

// New makes the relay of a network; cancel cancels the run that has it.
func New(network string, policy egress.Policy, cancel func()) (*Network, error) {
	ports, err := api.NetworkPorts(network, policy.Rules)
	return &Network{policy: policy, sockets: socketsForNames + len(ports), cancel: cancel}, err
}

const socketsForNames = 2

// Start takes the sockets of the run's network.
func (n *Network) Start(sockets []*os.File) {
	n.mu.Lock()
	defer n.mu.Unlock()

	if n.closed || len(sockets) != n.sockets {
		for _, s := range sockets {
			n.err = errors.Join(n.err, s.Close())
		}
		if !n.closed { // the kernel drops descriptors for which the process has no number free
			n.err = errors.Join(n.err, errors.New("too few sockets arrived: are the service's descriptors used up?"))
		}
	} else {
		n.relay, n.err = egress.Start(n.policy, sockets)
	}

	if n.err != nil {
		n.cancel()
	}
}

// Close ends the relay. It returns what the run reached; nil: the network was never there.
func (n *Network) Close() (*api.NetworkUsage, error) {
	n.mu.Lock()
	n.closed = true
	relay, err := n.relay, n.err
	n.mu.Unlock()
	if err != nil {
		return nil, api.Fail(api.CodeHostExhausted,
			"the service could not relay the network: %w: send the request again later", err)
	}
	if relay == nil {
		return nil, nil
	}

	used := relay.Close()
	return &used, nil
}
