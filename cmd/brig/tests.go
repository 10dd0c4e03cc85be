package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/problem"
)

// The largest file of a test that goes into the request itself, and the most for all of them. Any
// other file goes to the agent as a blob, which the agent keeps for the next run.
const (
	inlineTest  = 64 << 10
	inlineTests = 8 << 20
)

// readTests reads the tests from files of tree, and sends large files to the agent as blobs.
func readTests(ctx context.Context, agent *agentHandle, tree *problem.Tree, pairs []problem.Pair) ([]api.Test, error) {
	inline := 0
	read := func(file string) (api.Bytes, string, error) {
		content, err := tree.Read(file, maxInput)
		if err != nil {
			return nil, "", withSizeRemedy(err)
		}
		if inline += len(content); len(content) <= inlineTest && inline <= inlineTests {
			return content, "", nil
		}
		inline -= len(content)
		digest, err := agent.PutBlob(ctx, content)
		return nil, digest, err
	}
	tests := make([]api.Test, 0, len(pairs))
	for _, p := range pairs {
		t := api.Test{ID: p.ID}
		var err error
		if t.Stdin, t.StdinBlob, err = read(p.Input); err != nil {
			return nil, err
		}
		var answer api.Bytes
		if answer, t.ExpectedBlob, err = read(p.Answer); err != nil {
			return nil, err
		}
		if t.ExpectedBlob == "" {
			t.Expected = &answer
		}
		tests = append(tests, t)
	}
	return tests, nil
}

// runTests executes the run of --tests, and shows each test as it ends.
func (c *cli) runTests(ctx context.Context, agent *agentHandle, o *runOptions) (api.Result, error) {
	tree, err := problem.Open(o.testsDir)
	if err == nil {
		o.run.Tests, err = readTests(ctx, agent, tree, o.pairs)
		err = errors.Join(err, tree.Close())
	}
	if err != nil {
		return api.Result{}, fmt.Errorf("--tests %s: %w", o.testsDir, err)
	}
	table := newTestTable(c, o)
	res, err := retryWhileBusy(ctx, c, o.wait, func() (api.Result, error) {
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
		return exitCanceled
	case r.Summary != nil && r.Summary.Accepted == r.Summary.Tests:
		return 0
	}
	return 1
}

// checkTests refuses flags that contradict --tests or need it, and finds the tests.
func (o *runOptions) checkTests() (err error) {
	if o.testsDir == "" {
		switch {
		case o.run.Compare != (api.Compare{}), o.run.StopAtFailure:
			return fmt.Errorf("--compare, --tolerance and --stop-at-failure apply to tests: add --tests DIR")
		}
		return nil
	}
	if err := o.checkOneProgram(); err != nil {
		return err
	}
	if o.out != "" || len(o.collect) > 0 {
		return fmt.Errorf("--tests collects no files: leave out --out and --collect")
	}
	if o.run.Compare.Tolerance != 0 && o.run.Compare.How == "" {
		o.run.Compare.How = api.CompareFloat
	}
	o.pairs, o.unpaired, err = findTests(o.testsDir)
	if err != nil {
		return fmt.Errorf("--tests %w", err)
	}
	return nil
}

// findTests finds the tests in a directory or zip archive.
func findTests(dir string) (pairs []problem.Pair, unpaired []string, err error) {
	tree, pairs, unpaired, err := openTests(dir)
	if err != nil {
		return nil, nil, err
	}
	return pairs, unpaired, tree.Close()
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
	return fmt.Errorf("--tests judges one program, but %s %s: to judge each: brig grade %s %s %s; to pass files as arguments write -- before %[2]s",
		what, o.args[0], shellWord(o.testsDir), shellWord(o.args[0]), strings.Join(shellWords(more), " "))
}

func shellWords(all []string) []string {
	var out []string
	for _, w := range all {
		out = append(out, shellWord(w))
	}
	return out
}
