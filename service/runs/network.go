package runs

import (
	"bytes"
	"context"
	"io"
	"os"
	"time"

	"github.com/brig-sandbox/brig/agent/client"
	"github.com/brig-sandbox/brig/agent/egress"
	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/core"
	"github.com/brig-sandbox/brig/service/relay"
)

// reachesHosts reports whether a run has a network that the service relays.
func reachesHosts(r api.Run) bool { return !api.NetworkWithin(r.Network, api.NetworkLoopback) }

func (rs *Runs) networkOf(r api.Run, cancel func()) (*relay.Network, error) {
	rules, err := api.AllowRules(r.Allow)
	if err != nil {
		return nil, err
	}
	policy := egress.Policy{Public: r.Network == api.NetworkPublic, Rules: rules, Internal: rs.Config.EgressInternal}
	return relay.New(r.Network, policy, cancel)
}

// executeWithNetwork executes a run and relays its network. No relay outlives the time that the run
// has its slot: the slots bound how many there are.
func (rs *Runs) executeWithNetwork(ctx context.Context, o *Request) (api.Result, error) {
	running, cancel := context.WithCancel(ctx)
	defer cancel()

	n, err := rs.networkOf(o.Run, cancel)
	if err != nil {
		return api.Result{}, err
	}
	if o.MaxSlotTime > 0 {
		late := time.AfterFunc(o.MaxSlotTime+SlotSlack, func() { _, _ = n.Close() }) // the second close returns the error
		defer late.Stop()
	}

	var res api.Result
	if o.active == nil || o.Run.StdinBlob != "" {
		if o.active != nil && o.active.markRunning() {
			o.active.Log.Put(ctx, api.EventStarted, struct{}{})
		}
		res, err = rs.collectRun(running, o, n.Start)
	} else {
		res, err = rs.executeWithEvents(running, o, n.Start)
	}

	used, nerr := n.Close()
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
func (rs *Runs) collectRun(ctx context.Context, o *Request, network func([]*os.File)) (api.Result, error) {
	run, stdin := o.Run, io.Reader(bytes.NewReader(o.Run.Stdin))
	run.Stdin = nil
	response := core.AgentResponseOf(ctx)
	out, errs := &collectedStream{response: response}, &collectedStream{response: response}
	if o.wrote != nil {
		out.wrote = func(bytes int) { o.wrote(false, bytes) }
		errs.wrote = func(bytes int) { o.wrote(true, bytes) }
	}
	res, err := rs.Config.Agent.RunEvents(ctx, run, stdin, client.Events{Stdout: out, Stderr: errs, Network: network})
	if err == nil && res.Stage == api.StageRun {
		res.Stdout, res.StdoutTruncated = out.kept, res.StdoutTruncated || out.truncated
		res.Stderr, res.StderrTruncated = errs.kept, res.StderrTruncated || errs.truncated
	}
	return res, err
}

// executeInOrder executes a run whose caller asks in which order it writes to its streams. Only the streamed form says so.
func (rs *Runs) executeInOrder(ctx context.Context, o *Request) (api.Result, error) {
	res, err := rs.collectRun(ctx, o, nil)
	if ctx.Err() != nil { // the caller left: return that error, as Agent.Run does
		return api.Result{}, ctx.Err()
	}
	return res, err
}

// MaxCollected is how much of a stream a result has.
const MaxCollected = 16 << 20

// A collectedStream keeps the beginning of a stream, as far as there is quota for it. It never blocks:
// the program would wait.
type collectedStream struct {
	response  *core.AgentResponse // nil: without quota
	kept      api.Bytes
	truncated bool
	wrote     func(bytes int) // called with the length of each piece that is kept; nil: nobody asks
}

func (c *collectedStream) Write(b []byte) (int, error) {
	maximum := MaxCollected - len(c.kept)
	if c.response != nil && !c.response.KeepOutput(min(len(b), maximum)) {
		maximum = max(core.HeadTailSize-len(c.kept), 0)
	}
	if c.truncated || len(b) > maximum {
		c.truncated = true
	}
	if part := b[:min(len(b), maximum)]; len(part) > 0 {
		c.kept = append(c.kept, part...)
		if c.wrote != nil {
			c.wrote(len(part))
		}
	}
	return len(b), nil
}
