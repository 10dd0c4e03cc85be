package main

import (
	"context"
	"time"

	"github.com/brig-sandbox/brig/agent/caller"
	"github.com/brig-sandbox/brig/api"
)

// An executor is a caller.Executor that stores the images which the runs need.
type executor struct {
	*caller.Executor
	c       *cli
	noBuild bool
	built   map[string]error // by image: how storing it ended
}

func (c *cli) newExecutor(ctx context.Context, agent *caller.Agent, wait time.Duration,
	noBuild bool) (*executor, error) {
	x, err := caller.NewExecutor(ctx, agent, wait, c.note)
	if err != nil {
		return nil, err
	}
	return &executor{Executor: x, c: c, noBuild: noBuild, built: map[string]error{}}, nil
}

// prepare finds a language, and stores its image if that is missing. It is called by one goroutine.
func (x *executor) prepare(ctx context.Context, name string, src source) (api.Language, error) {
	l, err := languageOf(x.Languages, name, src)
	if err != nil || l.Stored {
		return l, err
	}
	if _, done := x.built[l.Image]; !done {
		x.built[l.Image] = x.c.ensureImage(ctx, x.Agent, l, x.noBuild)
	}
	return l, x.built[l.Image]
}

// retryWhileBusy is caller.Retry, which prints a note if it takes a while.
func retryWhileBusy[T any](ctx context.Context, c *cli, wait time.Duration,
	attempt func(context.Context) (T, error)) (T, error) {
	return caller.Retry(ctx, wait, func(why string) { c.note("%s; waiting up to %s (--wait)", why, wait) }, attempt)
}
