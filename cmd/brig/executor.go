package main

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/brig-sandbox/brig/agent/client"
	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/judge/grade"
)

// An executor executes many runs on one agent, as many at once as it has slots.
type executor struct {
	c         *cli
	agent     *agentHandle
	languages []api.Language
	slots     int           // of the agent
	ceiling   api.Limits    // most that it lets a run request
	wait      time.Duration // how long to wait while others have every slot
	noBuild   bool
	built     map[string]error // by image: how storing it ended
	noted     sync.Once        // that the agent is away
}

func (c *cli) newExecutor(ctx context.Context, agent *agentHandle, wait time.Duration,
	noBuild bool) (*executor, error) {
	all, err := agent.Languages(ctx)
	if err != nil {
		return nil, err
	}
	health, err := agent.Health(ctx)
	if err != nil {
		return nil, err
	}
	return &executor{c: c, agent: agent, languages: all, slots: max(health.Slots, 1), ceiling: health.Ceiling, wait: wait,
		noBuild: noBuild, built: map[string]error{}}, nil
}

// prepare finds a language, and stores its image if that is missing. It is called by one goroutine.
func (x *executor) prepare(ctx context.Context, name string, src source) (api.Language, error) {
	l, err := languageOf(x.languages, name, src)
	if err != nil || l.Stored {
		return l, err
	}
	if _, done := x.built[l.Image]; !done {
		x.built[l.Image] = x.c.ensureImage(ctx, x.agent, l, x.noBuild)
	}
	return l, x.built[l.Image]
}

// sourceName is grade.SourceName for a language that is known by name.
func (x *executor) sourceName(language, name string, files int, tests []api.Test) string {
	i := slices.IndexFunc(x.languages, func(l api.Language) bool { return l.Name == language })
	if i < 0 {
		return name
	}
	return grade.SourceName(x.languages[i], name, files, tests)
}

// withSourceName puts the name that the user knows into the diagnoses of a program that ran under another.
func withSourceName(res *api.Result, name string) {
	rename := func(d *api.Diagnosis) {
		if d != nil && d.File != "" {
			d.File = name
		}
	}
	rename(res.Diagnosis)
	for i := range res.Tests {
		rename(res.Tests[i].Result.Diagnosis)
	}
}

// put makes the agent keep a blob.
func (x *executor) put(ctx context.Context) func(string, []byte) (string, error) {
	return func(_ string, content []byte) (string, error) { return x.agent.PutBlob(ctx, content) }
}

// runAttempts is how often a run is tried if brig fails, which says nothing about the program.
const runAttempts = 3

// execute executes a run; test is called after each of its tests, nil: never. It waits for a slot, and
// tries again if brig failed.
func (x *executor) execute(ctx context.Context, r api.Run, test func(api.TestResult)) (api.Result, *api.Error) {
	return x.attempt(ctx, func(ctx context.Context) (api.Result, error) {
		return x.agent.RunEvents(ctx, r, bytes.NewReader(nil), client.Events{Test: func(one api.TestResult) {
			if test != nil {
				test(one)
			}
		}})
	})
}

// alone executes a run without tests in the same way. Its result has all that the program wrote, which the
// agent does not keep in memory.
func (x *executor) alone(ctx context.Context, r api.Run) (api.Result, *api.Error) {
	stdin := r.Stdin
	r.Stdin = nil
	return x.attempt(ctx, func(ctx context.Context) (api.Result, error) {
		var stdout, stderr bytes.Buffer
		res, err := x.agent.RunEvents(ctx, r, bytes.NewReader(stdin), client.Events{Stdout: &stdout, Stderr: &stderr})
		res.Stdout, res.Stderr = stdout.Bytes(), stderr.Bytes()
		return res, err
	})
}

// attempt executes a run by calling run. It waits for a slot, waits for an agent that restarts, and tries again if
// brig failed.
func (x *executor) attempt(ctx context.Context,
	run func(context.Context) (api.Result, error)) (api.Result, *api.Error) {
	for attempt := 1; ; attempt++ {
		if err := context.Cause(ctx); err != nil {
			return api.Result{}, asError(err)
		}

		res, err := retryUntil(ctx, x.wait, nil, run)
		if err == nil && res.Verdict == api.Canceled {
			err = api.Fail(api.CodeStopping, "the agent ended the run")
		}
		if err == nil {
			return res, nil
		}

		e := asError(x.agent.explain(err))
		switch {
		case ctx.Err() != nil:
			return api.Result{}, asError(context.Cause(ctx))
		case x.away(e):
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

// away reports whether an error means that the agent has ended, and may come back: one of a service manager does.
func (x *executor) away(e *api.Error) bool {
	return x.agent.private == nil && api.HasCode(e, api.CodeAgentGone, api.CodeAgentUnreachable, api.CodeStopping)
}

// waitForAgent waits until the agent answers, as long as for a slot.
func (x *executor) waitForAgent(ctx context.Context) error {
	began := time.Now()
	for {
		_, err := x.agent.Health(ctx)
		switch {
		case err == nil:
			return nil
		case time.Since(began) > x.wait:
			return err
		}

		x.noted.Do(func() {
			x.c.note("the agent on %s does not answer: waiting up to %s for it (--wait)", x.agent.socket, x.wait)
		})
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// each calls do for 0 to n-1, each of which executes a run: as many at once as the agent has slots.
func (x *executor) each(n int, do func(i int)) {
	next := make(chan int)
	var workers sync.WaitGroup
	for range min(max(x.slots, 1), n) {
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

// asError is err as brig writes it in JSON.
func asError(err error) *api.Error {
	var e *api.Error
	if errors.As(err, &e) {
		return e
	}
	return api.Refuse(api.CodeBadRequest, "%w", err)
}
