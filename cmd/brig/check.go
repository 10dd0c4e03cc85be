package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/terminal"
	"github.com/brig-sandbox/brig/judge/check"
)

const checkUsage = `
Check a program's source for problems: dangerous calls, syntax errors, passwords and
keys. The language's own parser reads it, in a sandbox.

The findings are advice. A program can do things that no reader of its source sees: the
sandbox is the boundary, not the check.

Usage:
  brig check [flags] FILE

Examples:
  brig check solve.py
  brig check --json --language python submission

Exit codes: 0 if no finding is an error or worse, 1 if one is, 125 if brig itself failed.`

// checkCommand is brig check: one run of a parser, and its findings.
func checkCommand(c *cli) *cobra.Command {
	o := &runOptions{command: "check"}
	k, f := newCommand("check", checkUsage)
	f.StringVarP(&o.run.Language, "language", "l", "",
		"`NAME` of the language; by default from FILE's extension, or its #! line")
	f.BoolVar(&o.json, "json", false, "print the findings as JSON")
	busyWait(f, &o.wait)
	noBuildFlag(f, &o.noBuild)
	socketVar(f, &o.socket)
	return c.does(k, func() int {
		if f.NArg() != 1 {
			return c.runFailed(o, errors.New("name one FILE to check"), true)
		}

		file := f.Arg(0)
		src, err := readSource(file, c.stdin)
		if err == nil && o.run.Language == "" {
			err = src.checkLanguageKnown()
		}
		if err != nil {
			return c.runFailed(o, err, true)
		}

		agent, err := c.connect(o.socket)
		if err != nil {
			return c.runFailed(o, err, false)
		}

		ctx, stop := untilInterrupt(agent)
		defer stop()

		if err := c.resolveLanguage(ctx, agent, o, src); err != nil {
			return c.runFailed(o, agent.Explain(err), false)
		}

		found, err := check.Program(o.run.Language, src.name, src.text, func(r api.Run) (api.Result, error) {
			return retryWhileBusy(ctx, c, o.wait, func(ctx context.Context) (api.Result, error) { return agent.Run(ctx, r) })
		})
		if err != nil {
			return c.runFailed(o, agent.Explain(err), false)
		}
		if o.json {
			c.stdout.Write(marshal(struct {
				Findings []api.Finding `json:"findings"`
			}{append([]api.Finding{}, found...)}))
		} else {
			c.text().Write(listed(file, found))
		}
		if check.HasErrors(found) {
			return 1
		}
		return 0
	})
}

// listed formats findings as compilers do, each with its line below.
func listed(file string, found []api.Finding) []byte {
	var b bytes.Buffer
	for _, f := range found {
		b.WriteString(terminal.Quote(file))
		if f.Line > 0 {
			fmt.Fprintf(&b, ":%d", f.Line)
		}
		if f.Column > 0 {
			fmt.Fprintf(&b, ":%d", f.Column)
		}
		fmt.Fprintf(&b, ": %s: %s [%s]\n", f.Severity, terminal.OneLine(f.Message), f.Rule)
		if f.Snippet != "" {
			fmt.Fprintf(&b, "    %s\n", terminal.OneLine(f.Snippet))
		}
	}

	if len(found) == 0 {
		fmt.Fprintf(&b, "%s: nothing found\n", terminal.Quote(file))
	}
	return b.Bytes()
}
