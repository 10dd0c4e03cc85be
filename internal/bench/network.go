package main

import (
	"context"
	"errors"
	"os"

	"github.com/brig-sandbox/brig/agent/client"
	"github.com/brig-sandbox/brig/agent/egress"
	"github.com/brig-sandbox/brig/api"
)

// networkRow is the row of runs with network. The row before it has the same runs without one.
const networkRow = "brig strict, live output and network, 1 client"

// streamed executes runs in the form with live output, which a run with network needs.
func streamed(c *client.Client) runner {
	return func(ctx context.Context, r api.Run) (api.Result, error) {
		return c.RunEvents(ctx, r, nil, client.Events{})
	}
}

// withNetwork executes runs with a network that has one host, and relays for them as brig run does.
// The program opens no connection: what is measured is what every such run costs.
func withNetwork(c *client.Client) runner {
	return func(ctx context.Context, r api.Run) (api.Result, error) {
		r.Network, r.Allow = api.NetworkAllow, []string{"bench.test:443"}
		rules, err := api.AllowRules(r.Allow)
		if err != nil {
			return api.Result{}, err
		}

		var relay *egress.Relay
		var relayErr error
		res, err := c.RunEvents(ctx, r, nil, client.Events{Network: func(sockets []*os.File) {
			relay, relayErr = egress.Start(egress.Policy{Rules: rules}, sockets)
		}})
		if relayErr == nil && relay != nil {
			relay.Close()
		}
		return res, errors.Join(err, relayErr)
	}
}
