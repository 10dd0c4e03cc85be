package service

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/brig-sandbox/brig/agent/client"
	"github.com/brig-sandbox/brig/agent/egress"
	"github.com/brig-sandbox/brig/api"
)

// network refuses a network that is wider than what the operator offers or allows the key: the
// service makes the connections, from the operator's host.
func (pm *permits) network(c caller, r api.Run) error {
	if !api.NetworkWithin(r.Network, pm.cfg.Network) {
		return api.Refuse(api.CodeForbidden,
			"network %s is not offered by this service, which offers %s at most: leave network out, or have the operator offer it (brig serve --network %[1]s)", r.Network, cmp.Or(pm.cfg.Network, api.NetworkNone))
	}
	if pm.cfg.Keys != nil && !api.NetworkWithin(r.Network, c.Network) {
		return api.Refuse(api.CodeForbidden,
			"this key may not request network %s, but %s at most: leave network out, or have the operator set network: %[1]s on the key %[3]s", r.Network, cmp.Or(c.Network, api.NetworkNone), c.Name)
	}
	if len(pm.cfg.EgressAllow) == 0 {
		return nil
	}

	rules, err := api.AllowRules(r.Allow)
	if err != nil {
		return err
	}

	for _, rule := range rules {
		if port, ok := egress.Within(rule, pm.cfg.EgressAllow); !ok {
			return api.Refuse(api.CodeForbidden,
				"allow %q: port %d of it is not offered by this service, which offers %s: leave it out, or have the operator add it (brig serve --egress-allow)", rule, port, listed(pm.cfg.EgressAllow))
		}
	}

	return nil
}

// listed lists the first rules, for a message.
func listed(rules []api.AllowRule) string {
	const most = 8
	var texts []string
	for _, r := range rules[:min(len(rules), most)] {
		texts = append(texts, r.String())
	}
	if len(rules) > most {
		texts = append(texts, "and more")
	}
	return strings.Join(texts, ", ")
}

// networkProfile is the profile of runs with network that name none.
const networkProfile = "network"

// unofferedNetwork returns what the agent offers if it answers and offers less than the service.
func (pm *permits) unofferedNetwork() (most string, unoffered bool) {
	h, _, err := pm.agent.get()
	return cmp.Or(h.Network, api.NetworkNone), err == nil && !api.NetworkWithin(pm.cfg.Network, h.Network)
}

// warnUselessNetworks logs the names of keys that may request more than the service offers.
func (pm *permits) warnUselessNetworks() {
	if pm.cfg.Keys == nil {
		return
	}

	var names []string
	for _, k := range pm.cfg.Keys.List() {
		if !api.NetworkWithin(k.Network, pm.cfg.Network) {
			names = append(names, k.Name)
		}
	}

	if len(names) > 0 {
		pm.log.Warn("network of these keys has no effect beyond what the service offers (brig serve --network)", "keys", names,
			"offered", cmp.Or(pm.cfg.Network, api.NetworkNone))
	}
}

// reachesHosts reports whether a run has a network that the service relays.
func reachesHosts(r api.Run) bool { return !api.NetworkWithin(r.Network, api.NetworkLoopback) }

// A runNetwork relays the network of one run, or of one installer, that the agent executes: from the
// arrival of its sockets until close. If it cannot, it cancels the run.
type runNetwork struct {
	policy  egress.Policy
	sockets int    // that the agent sends
	cancel  func() // cancels the run

	mu     sync.Mutex
	relay  *egress.Relay // guarded by mu; nil: there are no sockets yet
	closed bool          // guarded by mu
	err    error         // guarded by mu
}

func (rs *runs) networkOf(r api.Run, cancel func()) (*runNetwork, error) {
	rules, err := api.AllowRules(r.Allow)
	if err != nil {
		return nil, err
	}
	policy := egress.Policy{Public: r.Network == api.NetworkPublic, Rules: rules, Internal: rs.cfg.EgressInternal}
	return newRunNetwork(r.Network, policy, cancel)
}

func newRunNetwork(network string, policy egress.Policy, cancel func()) (*runNetwork, error) {
	ports, err := api.NetworkPorts(network, policy.Rules)
	return &runNetwork{policy: policy, sockets: socketsForNames + len(ports), cancel: cancel}, err
}

const socketsForNames = 2

// start takes the sockets of the run's network.
func (n *runNetwork) start(sockets []*os.File) {
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

// close ends the relay. It returns what the run reached; nil: the network was never there.
func (n *runNetwork) close() (*api.NetworkUsage, error) {
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

// executeWithNetwork executes a run and relays its network. No relay outlives the time that the run
// has its slot: the slots bound how many there are.
func (rs *runs) executeWithNetwork(ctx context.Context, o *runRequest) (api.Result, error) {
	running, cancel := context.WithCancel(ctx)
	defer cancel()

	n, err := rs.networkOf(o.run, cancel)
	if err != nil {
		return api.Result{}, err
	}
	if o.maxSlotTime > 0 {
		late := time.AfterFunc(o.maxSlotTime+slotSlack, func() { _, _ = n.close() }) // the second close returns the error
		defer late.Stop()
	}

	var res api.Result
	if o.active == nil || o.run.StdinBlob != "" {
		if o.active != nil && o.active.markRunning() {
			o.active.log.Put(ctx, api.EventStarted, struct{}{})
		}
		res, err = rs.collectRun(running, o.run, n.start)
	} else {
		res, err = rs.executeWithEvents(running, o, n.start)
	}

	used, nerr := n.close()
	o.network = used
	switch {
	case nerr != nil:
		return api.Result{}, nerr
	case ctx.Err() != nil && o.active == nil: // the caller left; the call without events does the same
		return api.Result{}, ctx.Err()
	case err == nil:
		res.Network = used
	}

	return res, err
}

// collectRun executes a run in the streamed form, in which alone the sockets of a network arrive, and
// returns it as the other form does: with the beginning of each stream in the result.
func (rs *runs) collectRun(ctx context.Context, run api.Run, network func([]*os.File)) (api.Result, error) {
	stdin := io.Reader(bytes.NewReader(run.Stdin))
	run.Stdin = nil
	response := agentResponseOf(ctx)
	out, errs := &collectedStream{response: response}, &collectedStream{response: response}
	res, err := rs.cfg.Agent.RunEvents(ctx, run, stdin, client.Events{Stdout: out, Stderr: errs, Network: network})
	if err == nil && res.Stage == api.StageRun {
		res.Stdout, res.StdoutTruncated = out.kept, res.StdoutTruncated || out.truncated
		res.Stderr, res.StderrTruncated = errs.kept, res.StderrTruncated || errs.truncated
	}
	return res, err
}

// maxCollected is how much of a stream a result has.
const maxCollected = 16 << 20

// A collectedStream keeps the beginning of a stream, as far as there is quota for it. It never blocks:
// the program would wait.
type collectedStream struct {
	response  *agentResponse // nil: without quota
	kept      api.Bytes
	truncated bool
}

func (c *collectedStream) Write(b []byte) (int, error) {
	most := maxCollected - len(c.kept)
	if c.response != nil && !c.response.keepOutput(min(len(b), most)) {
		most = max(headTailSize-len(c.kept), 0)
	}
	if c.truncated || len(b) > most {
		c.truncated = true
	}
	if part := b[:min(len(b), most)]; len(part) > 0 {
		c.kept = append(c.kept, part...)
	}
	return len(b), nil
}

// keepOutput reserves quota for n more bytes of output. Without quota the response is thinned, like one
// that came as a whole.
func (a *agentResponse) keepOutput(n int) bool {
	if a.wholeThinned || !a.reservation.TryGrow(int64(n)) {
		a.wholeThinned = true
		return false
	}
	a.json += int64(n)
	return true
}

// MaxMemory is the most memory that the process uses: Config.MaxMemory, and relays for as many runs as
// the agent has slots, if the service offers a network with hosts.
func (g *Gateway) MaxMemory() api.Size {
	most := g.cfg.MaxMemory()
	if api.NetworkWithin(g.cfg.Network, api.NetworkLoopback) && !g.cfg.offersPackages() {
		return most
	}
	return most + api.Size(g.queue.Stats().Slots)*memoryOfRelay
}

// validNetwork refuses settings that contradict each other.
func (c Config) validNetwork() error {
	switch {
	case c.Network != "" && !slices.Contains(api.Networks(), c.Network):
		return api.Refuse(api.CodeBadRequest, "network %q does not exist: use %s", c.Network,
			strings.Join(api.Networks(), ", "))
	case c.Network == api.NetworkPublic && len(c.EgressAllow) > 0:
		return api.Refuse(api.CodeBadRequest,
			"network public offers every public host, and a list of hosts bounds network allow: set network to allow (brig serve --network allow), or leave the list out (--egress-allow)")
	}
	return nil
}
