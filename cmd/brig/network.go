package main

import (
	"cmp"
	"errors"
	"os"
	"slices"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/egress"
)

// A runNetwork relays the network of one run, with the rights of the user who started brig.
type runNetwork struct {
	run   api.Run
	relay *egress.Relay // nil: the run has no network with hosts
	err   error
}

// start takes the sockets of the run's network. An address that the user listed may be of this host,
// or of a private network: it is the user who reaches it.
func (n *runNetwork) start(sockets []*os.File) {
	rules, err := api.AllowRules(n.run.Allow)
	if err != nil { // the agent has checked them
		for _, s := range sockets {
			s.Close()
		}
		n.err = err
		return
	}
	listed := slices.DeleteFunc(slices.Clone(rules), func(r api.AllowRule) bool { return !r.Prefix.IsValid() })
	n.relay, n.err = egress.Start(egress.Policy{Public: n.run.Network == api.NetworkPublic, Rules: rules, Internal: listed}, sockets)
}

// finish ends the relay and adds to the result what the run reached.
func (n *runNetwork) finish(res api.Result, err error) (api.Result, error) {
	if n.err != nil {
		return res, cmp.Or(err, errors.Join(errors.New("the network of the run could not be relayed"), n.err))
	}
	if n.relay == nil {
		return res, err
	}
	used := n.relay.Close()
	res.Network = &used
	return res, err
}
