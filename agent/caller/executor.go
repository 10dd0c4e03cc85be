package caller

import (
	"bytes"
	"context"
	"sync"
	"time"

	"github.com/brig-sandbox/brig/agent/client"
	"github.com/brig-sandbox/brig/api"
)

// An Executor executes many runs on one agent, as many at once as it has slots.
type Executor struct {
	Agent     *Agent
	Languages []api.Language
	Slots     int           // of the agent
	Ceiling   api.Limits    // most that it lets a run request
	Wait      time.Duration // how long to wait while others have every slot
	Note      func(format string, args ...any)

	noted sync.Once // that the agent is away
}

// NewExecutor asks the agent what it can execute.
func NewExecutor(ctx context.Context, agent *Agent, wait time.Duration,
	note func(format string, args ...any)) (*Executor, error) {
	all, err := agent.Languages(ctx)
	if err != nil {
		return nil, err
	}
	health, err := agent.Health(ctx)
	if err != nil {
		return nil, err
	}
	return &Executor{Agent: agent, Languages: all, Slots: max(health.Slots, 1), Ceiling: health.Ceiling, Wait: wait,
		Note: note}, nil
}

// Put returns a function that makes the agent keep a blob.
func (x *Executor) Put(ctx context.Context) func(string, []byte) (string, error) {
	return func(_ string, content []byte) (string, error) { return x.Agent.PutBlob(ctx, content) }
}

// runAttempts is how often a run is tried if brig fails, which says nothing about the program.
const runAttempts = 3

// Run executes a run; test is called after each of its tests, nil: never. It waits for a slot, and
// tries again if brig failed.
func (x *Executor) Run(ctx context.Context, r api.Run, test func(api.TestResult)) (api.Result, *api.Error) {
	return x.attempt(ctx, func(ctx context.Context) (api.Result, error) {
		return x.Agent.RunEvents(ctx, r, bytes.NewReader(nil), client.Events{Test: func(one api.TestResult) {
			if test != nil {
				test(one)
			}
		}})
	})
}

// Alone executes a run without tests in the same way. Its result has all that the program wrote, which the
// agent does not keep in memory.
func (x *Executor) Alone(ctx context.Context, r api.Run) (api.Result, *api.Error) {
	stdin := r.Stdin
	r.Stdin = nil
	return x.attempt(ctx, func(ctx context.Context) (api.Result, error) {
		var stdout, stderr bytes.Buffer
		res, err := x.Agent.RunEvents(ctx, r, bytes.NewReader(stdin), client.Events{Stdout: &stdout, Stderr: &stderr})
		res.Stdout, res.Stderr = stdout.Bytes(), stderr.Bytes()
		return res, err
	})
}

// attempt executes a run by calling run. It waits for a slot, waits for an agent that restarts, and tries again if
// brig failed.
func (x *Executor) attempt(ctx context.Context,
	run func(context.Context) (api.Result, error)) (api.Result, *api.Error) {
	for attempt := 1; ; attempt++ {
		if err := context.Cause(ctx); err != nil {
			return api.Result{}, api.AsError(err)
		}

		res, err := Retry(ctx, x.Wait, nil, run)
		if err == nil && res.Verdict == api.Canceled {
			err = api.Fail(api.CodeStopping, "the agent ended the run")
		}
		if err == nil {
			return res, nil
		}

		e := api.AsError(x.Agent.Explain(err))
		switch {
		case ctx.Err() != nil:
			return api.Result{}, api.AsError(context.Cause(ctx))
		case x.Away(e):
			if api.HasCode(e, api.CodeAgentUnreachable) {
				attempt-- // nothing was executed
			}
			if attempt == runAttempts || x.waitForAgent(ctx) != nil {
				return api.Result{}, e
			}
		case !e.RetrySafe, attempt == runAttempts, api.HasCode(e, api.CodeBusy, api.CodeOverloaded):
			return api.Result{}, e
		}
	}
}

// Away reports whether an error means that the agent has ended, and may come back: one of a service manager does.
func (x *Executor) Away(e *api.Error) bool {
	return x.Agent.private == nil && api.HasCode(e, api.CodeAgentGone, api.CodeAgentUnreachable, api.CodeStopping)
}

// waitForAgent waits until the agent answers, as long as for a slot.
func (x *Executor) waitForAgent(ctx context.Context) error {
	began := time.Now()
	for {
		_, err := x.Agent.Health(ctx)
		switch {
		case err == nil:
			return nil
		case time.Since(began) > x.Wait:
			return err
		}

		x.noted.Do(func() {
			x.Note("the agent on %s does not answer: waiting up to %s for it (--wait)", x.Agent.Socket, x.Wait)
		})
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Each calls do for 0 to n-1, each of which executes a run: as many at once as the agent has slots.
func (x *Executor) Each(n int, do func(i int)) {
	next := make(chan int)
	var workers sync.WaitGroup
	for range min(max(x.Slots, 1), n) {
		workers.Go(func() {
			for i := range next {
				do(i)
			}
		})
	}

	for i := range n {
		next <- i
	}

	close(next)
	workers.Wait()
}

// ImageDigests has the digest of the image of each language that is stored.
func (x *Executor) ImageDigests(ctx context.Context) (map[string]string, error) {
	images, err := x.Agent.Images(ctx)
	if err != nil {
		return nil, err
	}

	named := map[string]string{}
	for _, i := range images {
		for _, name := range i.Names {
			named[name] = i.Digest
		}
	}

	all := map[string]string{}
	for _, l := range x.Languages {
		if digest := named[l.Image]; digest != "" {
			all[l.Name] = digest
		}
	}

	return all, nil
}
