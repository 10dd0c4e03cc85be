// Package relay relays the network of a run, or of an installer of packages, for a caller of an agent. Hostile
// programs and the hosts that they reach write what it reads: for root it is a process without privilege.
package relay

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"

	"github.com/brig-sandbox/brig/agent/egress"
	"github.com/brig-sandbox/brig/api"
)

// Command is the hidden command of brig whose main function is Main (TestNetworkIsRelayedWithoutRoot).
const Command = "relay"

// A Request says what a relay lets through: the network of a run or, if Installer is set, the index
// of packages.
type Request struct {
	Network string   `json:"network,omitempty"`
	Allow   []string `json:"allow,omitempty"`

	Installer *api.LanguagePackages `json:"installer,omitempty"`
	Index     string                `json:"index,omitempty"`
}

// policy returns the rules. An address that the user listed may be of this host, or of a private network:
// it is the user who reaches it.
func (r Request) policy(ctx context.Context) (egress.Policy, error) {
	if r.Installer != nil {
		return egress.InstallPolicy(ctx, *r.Installer, r.Index)
	}
	rules, err := api.AllowRules(r.Allow)
	listed := slices.DeleteFunc(slices.Clone(rules), func(r api.AllowRule) bool { return !r.Prefix.IsValid() })
	return egress.Policy{Public: r.Network == api.NetworkPublic, Rules: rules, Internal: listed}, err
}

// start starts the relay in this process. It takes over the sockets.
func (r Request) start(ctx context.Context, sockets []*os.File) (*egress.Relay, error) {
	policy, err := r.policy(ctx)
	if err != nil {
		closeAll(sockets)
		return nil, err
	}
	return egress.Start(policy, sockets)
}

func closeAll(files []*os.File) {
	for _, f := range files {
		f.Close() //nolint:errcheck // nothing was written
	}
}

// With has do execute a run or an installer whose network do passes on, and relays it until do
// returns. It returns what was reached; nil: the network was never there. A run whose network cannot be
// relayed is canceled.
func With[T any](ctx context.Context, as User, r Request,
	do func(ctx context.Context, network func([]*os.File)) (T, error)) (T, *api.NetworkUsage, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	var relay running
	var failed error
	res, err := do(ctx, func(sockets []*os.File) {
		if relay, failed = start(ctx, as, r, sockets); failed != nil {
			cancel()
		}
	})

	switch {
	case failed != nil:
		return res, nil, fmt.Errorf("the network could not be relayed: %w", failed)
	case relay == nil:
		return res, nil, err
	}

	used, cerr := relay.close()
	return res, &used, errors.Join(err, cerr)
}

// A running is a relay under way. close ends it.
type running interface {
	close() (api.NetworkUsage, error)
}

// ownRelay is a relay in this process.
type ownRelay struct{ *egress.Relay }

func (r ownRelay) close() (api.NetworkUsage, error) { return r.Close(), nil }

// A User chooses the user as which a process of root relays.
type User func() (*syscall.Credential, error)

// start starts a relay: in this process, or, if this process is root, in one without privilege.
func start(ctx context.Context, as User, r Request, sockets []*os.File) (running, error) {
	if os.Geteuid() == 0 {
		who, err := as()
		if err != nil {
			closeAll(sockets)
			return nil, err
		}
		return startProcess(ctx, who, r, sockets)
	}

	relay, err := r.start(ctx, sockets)
	if err != nil {
		return nil, err
	}
	return ownRelay{relay}, nil
}
