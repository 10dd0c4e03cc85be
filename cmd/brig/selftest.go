package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/brig-sandbox/brig/agent/caller"
	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/cmd/brig/cli"
	"github.com/brig-sandbox/brig/cmd/brig/images"
	"github.com/brig-sandbox/brig/internal/corpus"
	"github.com/brig-sandbox/brig/rootfs/build"
)

// A selftestResult is one line of a self-test.
type selftestResult struct {
	ID      string `json:"id"`
	Claim   string `json:"claim"`
	OK      bool   `json:"ok"`
	Skipped bool   `json:"skipped,omitempty"` // not checked: the agent's ceilings are too low for it
	Reason  string `json:"reason,omitempty"`  // of a failure
	TookNS  int64  `json:"took_ns"`
}

func selftestCommand(c *cli.CLI) *cobra.Command {
	k, f := cli.NewCommand("selftest", `
Test the sandbox on this host: programs try what the agent forbids, each in a real run.
The checks below come first, then the hostile programs of brig's own tests (docs/reports/corpus.md)
that do no harm even if they are not contained. The command creates things on this host
that the programs must not reach (a file, a process, listeners), and examines them after
each run. A check for which the agent's ceilings are too low is skipped and named. Exits
1 if a program gets further than it should.

Usage:
  brig selftest [--json] [ID...]

Examples:
  sudo brig selftest
  sudo brig selftest network memory-limit
  sudo brig selftest NS-05 SEC-13

Checks:
`+selftestNames())

	socket := cli.SocketFlag(f)
	asJSON := cli.JSONFlag(f)
	return c.Does(k, func() int {
		cases, err := corpus.Cases()
		if err != nil {
			return c.Fail(err)
		}

		checks, err := chooseChecks(append(selfchecks(), corpusChecks(cases)...), cases, f.Args())
		if err != nil {
			return c.Hint("selftest", err)
		}
		if err := os.Setenv(corpus.EnvName, corpus.EnvSecret); err != nil { // a private agent inherits it
			return c.Fail(err)
		}

		agent, err := c.Connect(*socket)
		if err != nil {
			return c.Fail(err)
		}

		ctx, stop := cli.UntilInterrupt(agent)
		defer stop()

		canaries, err := corpus.Plant()
		if err != nil {
			return c.Fail(fmt.Errorf("selftest: create what the programs must not reach: %w", err))
		}
		defer canaries.Close()

		if err := ensureTiny(ctx, c, agent); err != nil {
			return c.Fail(agent.Explain(err))
		}
		if *asJSON { // otherwise each line shows progress
			p := c.Progress(fmt.Sprintf("%d checks", len(checks)))
			defer p.End()
		}

		var all []selftestResult
		var stopped, writeErr error
		for _, k := range checks {
			r, err := runSelfcheck(ctx, agent, k, canaries)
			if err != nil {
				stopped = agent.Explain(fmt.Errorf("check %s: %w", k.id, err))
				break
			}
			all = append(all, r)
			if !*asJSON {
				_, err = fmt.Fprintln(c.Text(), r)
				writeErr = errors.Join(writeErr, err)
			}
		}

		if *asJSON { // also the results before an early stop
			text, err := json.MarshalIndent(all, "", "  ")
			if err != nil {
				return c.Fail(err)
			}
			_, writeErr = fmt.Fprintf(c.Text(), "%s\n", text)
		}
		if !*asJSON && stopped == nil {
			_, err = fmt.Fprintln(c.Text(), selftestSummary(all))
			writeErr = errors.Join(writeErr, err)
		}

		var by cli.Interrupted
		switch {
		case errors.As(context.Cause(ctx), &by):
			c.Note("selftest: %v after %d of %d checks", by, len(all), len(checks))
			return by.Exit()
		case stopped != nil:
			return c.Fail(stopped)
		case writeErr != nil:
			return c.Fail(fmt.Errorf("selftest: the report could not be written: %w", writeErr))
		case slices.ContainsFunc(all, func(r selftestResult) bool { return !r.OK && !r.Skipped }):
			return 1
		}

		return 0
	})
}

func (r selftestResult) String() string {
	word, reason := "ok  ", ""
	switch {
	case r.Skipped:
		word, reason = "skip", ": "+r.Reason
	case !r.OK:
		word, reason = "FAIL", ": "+r.Reason
	}
	return fmt.Sprintf("%s  %-14s %5d ms  %s%s", word, r.ID, r.TookNS/1e6, r.Claim, reason)
}

// selftestSummary is the last line of a report.
func selftestSummary(all []selftestResult) string {
	var passed, failed, skipped int
	for _, r := range all {
		switch {
		case r.Skipped:
			skipped++
		case r.OK:
			passed++
		default:
			failed++
		}
	}

	line := fmt.Sprintf("%d passed, %d failed", passed, failed)
	if skipped > 0 {
		line += fmt.Sprintf(", %d skipped", skipped)
	}
	return line
}

func selftestNames() string {
	var b strings.Builder
	t := cli.AlignedTable(&b)
	for _, k := range selfchecks() {
		fmt.Fprintf(t, "  %s\t%s\n", k.id, k.claim)
	}
	t.Flush()
	return b.String()
}

func chooseChecks(all []selfcheck, cases []corpus.Case, ids []string) ([]selfcheck, error) {
	if len(ids) == 0 {
		return all, nil
	}

	var out []selfcheck
	for _, id := range ids {
		i := slices.IndexFunc(all, func(k selfcheck) bool { return k.id == id })
		if i < 0 {
			j := slices.IndexFunc(cases, func(k corpus.Case) bool { return k.ID == id })
			if j >= 0 {
				return nil, fmt.Errorf("%s is not for a host in use: it %s if it is not contained; make test runs it", id,
					cases[j].Harm)
			}
			return nil, fmt.Errorf("selftest has no check %q", id)
		}
		out = append(out, all[i])
	}

	return out, nil
}

// runSelfcheck runs the programs of one check, one after the other, up to the first
// that gets further than it should.
func runSelfcheck(ctx context.Context, a *caller.Agent, k selfcheck, canaries *corpus.Canaries) (selftestResult, error) {
	out := selftestResult{ID: k.id, Claim: k.claim, OK: true}
	began := time.Now()

	for _, s := range k.steps {
		res, err := runPatiently(ctx, a, s.runWith(canaries))
		var refused *api.Error
		if errors.As(err, &refused) && refused.Code == api.CodeAboveCeiling {
			out.OK, out.Skipped, out.Reason = false, true, refused.Message
			break
		}
		if err != nil {
			return out, err
		}

		wrong := s.judge(res, canaries)
		if touched := canaries.Touched(); len(touched) > 0 {
			wrong = strings.Join(append(touched, wrong), "; ")
		}
		if wrong != "" {
			out.OK, out.Reason = false, wrong
			break
		}
	}

	out.TookNS = time.Since(began).Nanoseconds()
	return out, nil
}

// runPatiently executes a run with the time that a busy machine may need, or the agent's own if its ceiling is lower.
func runPatiently(ctx context.Context, a *caller.Agent, run api.Run) (api.Result, error) {
	res, err := a.Run(ctx, run)
	var refused *api.Error
	if errors.As(err, &refused) && refused.Code == api.CodeAboveCeiling && run.Limits.Wall == corpus.Wall {
		run.Limits.Wall = 0
		return a.Run(ctx, run)
	}
	return res, err
}

const tinyImage = "tiny"

// ensureTiny builds and stores the image the checks run in, if it is not there.
func ensureTiny(ctx context.Context, c *cli.CLI, a *caller.Agent) error {
	stored, err := a.Images(ctx)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(stored, func(i api.Image) bool { return slices.Contains(i.Names, tinyImage) }) {
		return nil
	}

	r, err := build.FindRecipe(tinyImage)
	if err != nil {
		return err
	}

	quiet := *c
	quiet.Stdout = io.Discard // stdout is the report's
	return images.BuildAndStore(ctx, &quiet, a, r, tinyImage, build.Options{Cache: cli.CacheDir()}, false)
}
