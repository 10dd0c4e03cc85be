package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/brig-sandbox/brig/agent/caller"
	"github.com/brig-sandbox/brig/agent/client"
	"github.com/brig-sandbox/brig/api"
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

	if o.suite.sourceName != "" {
		o.run.SourceName = o.suite.sourceName
	}
	if o.run.SourceName == "" { // -c or stdin
		return errors.New("--suite: the cases need the name of the program's file: add --source-name NAME")
	}

	p, tree, err := openSuite(o.testsDir)
	if err != nil {
		return fmt.Errorf("--tests %w", err)
	}

	o.problem = p
	o.run.Language = o.suite.language(o.run.Language, tree.Tree)
	return tree.Close()
}

// runSuite executes the run of --suite, and shows the cases of its report.
func (c *cli) runSuite(ctx context.Context, agent *caller.Agent, o *runOptions) (res api.Result, err error) {
	p, tree, err := openSuite(o.testsDir)
	if err != nil {
		return res, fmt.Errorf("--tests %w", err)
	}
	defer tree.Close()

	x, err := c.newExecutor(ctx, agent, o.wait, o.noBuild)
	if err != nil {
		return res, err
	}

	r := o.run
	r.Suite, r.Collect, r.Flags = o.suite.request(), api.Collect{}, nil
	if probe, ok, err := suite.Probe(r); err != nil || ok {
		if err == nil {
			err = x.probeSuite(ctx, probe, o.suite.language("", nil))
		}
		if err != nil {
			return res, fmt.Errorf("--suite %s: %w", o.suite.report, err)
		}
	}

	if r.Files, err = (grade.Loader{Problem: p, Tree: tree.Tree}).Included(r.Language, r.Files); err != nil {
		return res, fmt.Errorf("--tests %s: %w", o.testsDir, withSizeRemedy(err))
	}

	run, err := suite.Prepare(r)
	if err != nil {
		return res, err
	}
	if res, err = retryWhileBusy(ctx, c, o.wait, func(ctx context.Context) (api.Result, error) {
		return agent.RunEvents(ctx, run, bytes.NewReader(nil), client.Events{})
	}); err != nil {
		return res, err
	}

	res = suite.Read(*r.Suite, res)
	if n := len(res.Tests); !o.json && !o.quiet && n > 0 && res.Tests[n-1].ID == suite.Whole { // what ran the cases says why
		c.printCompilerOutput(res.Stdout, res.Stderr)
	}

	table := newTestTable(c, o)
	for _, one := range res.Tests {
		table.add(one)
	}

	table.end(res)
	return res, nil
}
