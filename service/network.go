package service

import (
	"bytes"
	"context"
	"io"
	"os"
	"time"

	"github.com/brig-sandbox/brig/agent/client"
	"github.com/brig-sandbox/brig/agent/egress"
	"github.com/brig-sandbox/brig/api"
)

// reachesHosts reports whether a run has a network that the service relays.
func reachesHosts(r api.Run) bool { return !api.NetworkWithin(r.Network, api.NetworkLoopback) }

func (rs *runs) networkOf(r api.Run, cancel func()) (*runNetwork, error) {
	rules, err := api.AllowRules(r.Allow)
	if err != nil {
		return nil, err
	}
	policy := egress.Policy{Public: r.Network == api.NetworkPublic, Rules: rules, Internal: rs.cfg.EgressInternal}
	return newRunNetwork(r.Network, policy, cancel)
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
