package run

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/brig-sandbox/brig/agent/caller"
	"github.com/brig-sandbox/brig/agent/client"
	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/cmd/brig/cli"
	"github.com/brig-sandbox/brig/cmd/brig/images"
	"github.com/brig-sandbox/brig/cmd/brig/judging"
	"github.com/brig-sandbox/brig/judge/grade"
	"github.com/brig-sandbox/brig/judge/suite"
)

// checkSuite refuses flags that contradict --suite, and finds its files.
func (o *runOptions) checkSuite() error {
	switch {
	case o.isCommand():
		return errors.New("--suite runs the cases next to a source: name a FILE, and with --rootfs also --language")
	case o.judges.checker != "" || o.judges.interactor != "":
		return errors.New("--suite: unit tests judge by themselves: leave out --check and --interactor")
	case len(o.run.Argv) > 0:
		return errors.New("--suite: the cases call the program: leave out its arguments, or write them into --suite-command")
	}

	if o.suite.SourceName != "" {
		o.run.SourceName = o.suite.SourceName
	}
	if o.run.SourceName == "" { // -c or stdin
		return errors.New("--suite: the cases need the name of the program's file: add --source-name NAME")
	}

	p, tree, err := judging.OpenSuite(o.testsDir)
	if err != nil {
		return fmt.Errorf("--tests %w", err)
	}

	o.problem = p
	o.run.Language = o.suite.Language(o.run.Language, tree.Tree)
	return tree.Close()
}

// runSuite executes the run of --suite, and shows the cases of its report.
func runSuite(ctx context.Context, c *cli.CLI, agent *caller.Agent, o *runOptions) (res api.Result, err error) {
	p, tree, err := judging.OpenSuite(o.testsDir)
	if err != nil {
		return res, fmt.Errorf("--tests %w", err)
	}
	defer tree.Close()

	x, err := images.NewExecutor(ctx, c.Quiet(o.quiet), agent, o.wait, o.noBuild)
	if err != nil {
		return res, err
	}

	r := o.run
	r.Suite, r.Collect, r.Flags = o.suite.Request(), api.Collect{}, nil
	if probe, ok, err := suite.Probe(r); err != nil || ok {
		if err == nil {
			err = judging.ProbeSuite(ctx, x, probe, o.suite.Language("", nil))
		}
		if err != nil {
			return res, fmt.Errorf("--suite %s: %w", o.suite.Report, err)
		}
	}

	if r.Files, err = (grade.Loader{Problem: p, Tree: tree.Tree}).Included(r.Language, r.Files); err != nil {
		return res, fmt.Errorf("--tests %s: %w", o.testsDir, cli.WithSizeRemedy(err))
	}

	run, err := suite.Prepare(r)
	if err != nil {
		return res, err
	}
	if res, err = cli.RetryWhileBusy(ctx, c, o.wait, func(ctx context.Context) (api.Result, error) {
		return agent.RunEvents(ctx, run, bytes.NewReader(nil), client.Events{})
	}); err != nil {
		return res, err
	}

	res = suite.Read(*r.Suite, res)
	if n := len(res.Tests); !o.json && !o.quiet && n > 0 && res.Tests[n-1].ID == suite.Whole { // what ran the cases says why
		printCompilerOutput(c, res.Stdout, res.Stderr)
	}

	table := newTestTable(c, o)
	for _, one := range res.Tests {
		table.add(one)
	}

	table.end(res)
	return res, nil
}
