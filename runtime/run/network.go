package run

import (
	"errors"
	"os"

	"github.com/brig-sandbox/brig/runtime/netns"
	"github.com/brig-sandbox/brig/runtime/plan"
)

// openNetwork prepares the network namespace of a run and gives the caller its sockets. The agent
// keeps none: it resolves no name and connects to no host. When the caller has closed its copies, and
// the run has ended, the namespace is gone.
func openNetwork(shell *os.File, n *plan.Network, streams Streams) error {
	sockets, err := netns.Open(shell, n.Ports)
	if err != nil {
		return err
	}
	if len(sockets) > 0 {
		err = streams.Network(sockets)
	}
	for _, s := range sockets {
		err = errors.Join(err, s.Close())
	}
	return err
}
