// Package images has the commands of images, languages and packages, and stores the images that runs need.
package images

import (
	"context"
	"time"

	"github.com/brig-sandbox/brig/agent/caller"
	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/cmd/brig/cli"
)

// An Executor is a caller.Executor that stores the images which the runs need.
type Executor struct {
	*caller.Executor
	CLI     *cli.CLI // of the command
	noBuild bool
	built   map[string]error // by image: how storing it ended
}

// NewExecutor makes the executor of a command on an agent.
func NewExecutor(ctx context.Context, c *cli.CLI, agent *caller.Agent, wait time.Duration,
	noBuild bool) (*Executor, error) {
	x, err := caller.NewExecutor(ctx, agent, wait, c.Note)
	if err != nil {
		return nil, err
	}
	return &Executor{Executor: x, CLI: c, noBuild: noBuild, built: map[string]error{}}, nil
}

// Prepare finds a language, and stores its image if that is missing. It is called by one goroutine.
func (x *Executor) Prepare(ctx context.Context, name string, src cli.Source) (api.Language, error) {
	l, err := cli.LanguageOf(x.Languages, name, src)
	if err != nil || l.Stored {
		return l, err
	}
	if _, done := x.built[l.Image]; !done {
		x.built[l.Image] = EnsureImage(ctx, x.CLI, x.Agent, l, x.noBuild)
	}
	return l, x.built[l.Image]
}

// PrepareChecker builds the image of the checker or interactor, if it is missing.
func (x *Executor) PrepareChecker(ctx context.Context, r api.Run) error {
	language := ""
	if r.Check != nil {
		language = r.Check.Language
	}
	if r.Interactor != nil {
		language = r.Interactor.Language
	}
	if language == "" {
		return nil
	}
	_, err := x.Prepare(ctx, language, cli.Source{})
	return err
}

// Language is for verify: a language whose image is stored, now at the latest.
func (x *Executor) Language(ctx context.Context, name string) (api.Language, error) {
	l, err := x.Prepare(ctx, name, cli.Source{})
	if err == nil && !l.Stored && x.noBuild {
		err = MissingImage(l, "language "+l.Name)
	}
	return l, err
}

// Execute is for verify.
func (x *Executor) Execute(ctx context.Context, r api.Run, test func()) (api.Result, *api.Error) {
	return x.Run(ctx, r, func(api.TestResult) {
		if test != nil {
			test()
		}
	})
}
