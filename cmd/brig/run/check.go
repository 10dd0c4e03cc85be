package run

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/cmd/brig/cli"
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

// CheckCommand is brig check: one run of a parser, and its findings.
func CheckCommand(c *cli.CLI) *cobra.Command {
	o := &runOptions{command: "check"}
	k, f := cli.NewCommand("check", checkUsage)
	f.StringVarP(&o.run.Language, "language", "l", "",
		"`NAME` of the language; by default from FILE's extension, or its #! line")
	f.BoolVar(&o.json, "json", false, "print the findings as JSON")
	cli.BusyWait(f, &o.wait)
	cli.NoBuildFlag(f, &o.noBuild)
	cli.SocketVar(f, &o.socket)
	return c.Does(k, func() int {
		if f.NArg() != 1 {
			return runFailed(c, o, errors.New("name one FILE to check"), true)
		}

		file := f.Arg(0)
		src, err := cli.ReadSource(file, c.Stdin)
		if err == nil && o.run.Language == "" {
			err = src.CheckLanguageKnown()
		}
		if err != nil {
			return runFailed(c, o, err, true)
		}

		agent, err := c.Connect(o.socket)
		if err != nil {
			return runFailed(c, o, err, false)
		}

		ctx, stop := cli.UntilInterrupt(agent)
		defer stop()

		if err := resolveLanguage(ctx, c, agent, o, src); err != nil {
			return runFailed(c, o, agent.Explain(err), false)
		}

		found, err := check.Program(o.run.Language, src.Name, src.Text, func(r api.Run) (api.Result, error) {
			return cli.RetryWhileBusy(ctx, c, o.wait, func(ctx context.Context) (api.Result, error) { return agent.Run(ctx, r) })
		})
		if err != nil {
			return runFailed(c, o, agent.Explain(err), false)
		}
		if o.json {
			c.Stdout.Write(cli.Marshal(struct {
				Findings []api.Finding `json:"findings"`
			}{append([]api.Finding{}, found...)}))
		} else {
			c.Text().Write(listed(file, found))
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
