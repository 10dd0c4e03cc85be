package run

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/brig-sandbox/brig/agent/caller"
	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/cmd/brig/cli"
	"github.com/brig-sandbox/brig/cmd/brig/images"
	"github.com/brig-sandbox/brig/cmd/brig/judging"
	"github.com/brig-sandbox/brig/judge/grade"
)

// runTests executes the run of --tests, and shows each test as it ends.
func runTests(ctx context.Context, c *cli.CLI, agent *caller.Agent, o *runOptions) (api.Result, error) {
	if err := readTests(ctx, c, agent, o); err != nil {
		return api.Result{}, fmt.Errorf("--tests %s: %w", o.testsDir, cli.WithSizeRemedy(err))
	}
	table := newTestTable(c, o)
	res, err := cli.RetryWhileBusy(ctx, c, o.wait, func(ctx context.Context) (api.Result, error) {
		return agent.RunEvents(ctx, o.run, bytes.NewReader(nil), table.events())
	})
	table.end(res)
	o.explain(&res, nil)
	return res, err
}

// testsExit is 0 when every test was accepted.
func testsExit(r api.Result) int {
	switch {
	case r.Verdict == api.Canceled:
		return cli.ExitCanceled
	case r.Summary != nil && r.Summary.Accepted == r.Summary.Tests:
		return 0
	}
	return 1
}

// checkTests refuses flags that contradict --tests or need it, and finds the tests.
func (o *runOptions) checkTests(c *cli.CLI) (err error) {
	if err := o.suite.Check(o.run); err != nil {
		return err
	}

	if o.testsDir == "" {
		switch {
		case o.suite.Report != "":
			return fmt.Errorf("--suite: add --tests with the file, the directory or the zip of the unit tests")
		case o.run.Compare != (api.Compare{}), o.run.StopAtFailure:
			return fmt.Errorf("--compare, --tolerance and --stop-at-failure apply to tests: add --tests DIR")
		case o.run.InputFile != "" || o.run.OutputFile != "":
			return fmt.Errorf("--input-file and --output-file apply to tests: add --tests DIR; without tests --file " +
				"places a file, and --collect returns one")
		}
		return nil
	}

	if err := o.checkOneProgram(); err != nil {
		return err
	}
	if o.out != "" || len(o.collect) > 0 {
		return fmt.Errorf("--tests collects no files: leave out --out and --collect")
	}
	if o.suite.Report != "" {
		return o.checkSuite()
	}
	if o.run.Compare.Tolerance != 0 && o.run.Compare.How == "" {
		o.run.Compare.How = api.CompareFloat
	}

	p, tree, err := judging.OpenProblem(c, o.testsDir)
	if err != nil {
		return fmt.Errorf("--tests %w", err)
	}

	o.problem = p
	if err := errors.Join(p.Whole(), tree.Close()); err != nil { // before an image is built for nothing
		return fmt.Errorf("--tests %s: %w", o.testsDir, err)
	}
	return nil
}

// readTests reads the tests of the run, and what else the problem says. What the command line says takes
// precedence.
func readTests(ctx context.Context, c *cli.CLI, agent *caller.Agent, o *runOptions) error {
	p, tree, err := judging.OpenProblem(c, o.testsDir)
	if err != nil {
		return err
	}
	defer tree.Close()

	x, err := images.NewExecutor(ctx, c.Quiet(o.quiet), agent, o.wait, o.noBuild)
	if err != nil {
		return err
	}

	loader := grade.Loader{Problem: p, Tree: tree.Tree, Put: x.Put(ctx)}
	common, err := loader.Common()
	if err != nil {
		return err
	}
	if err := x.PrepareChecker(ctx, common); err != nil {
		return err
	}

	grade.Apply(&o.run, common, p.Limits.Time, x.Ceiling)
	o.run.Source = cli.SourceBytes(loader.Source(o.run.Language, o.run.Source))
	o.run.Files, err = loader.Included(o.run.Language, o.run.Files)
	return err
}

// checkOneProgram refuses further files after FILE: a user whose shell expands submissions/*.py wants
// to judge each, but all except the first would be arguments of the first. A -- before or after
// FILE says that they are arguments.
func (o *runOptions) checkOneProgram() error {
	if o.hasDash || o.hasCode || o.isCommand() || slices.Contains(o.args[1:], "--") {
		return nil
	}

	var more []string
	for _, w := range o.args[1:] {
		if _, err := os.Stat(w); err == nil {
			more = append(more, w)
		}
	}

	if len(more) == 0 {
		return nil
	}

	what := more[0] + " follows"
	if n := len(more) - 1; n > 0 {
		what = fmt.Sprintf("%s and %d more follow", more[0], n)
	}

	return fmt.Errorf("--tests judges one program, but %s %s: to judge each: brig grade %s %s %s; to pass files as "+
		"arguments write -- before %[2]s",
		what, o.args[0], cli.ShellWord(o.testsDir), cli.ShellWord(o.args[0]), strings.Join(shellWords(more), " "))
}

func shellWords(all []string) []string {
	var out []string
	for _, w := range all {
		out = append(out, cli.ShellWord(w))
	}
	return out
}
