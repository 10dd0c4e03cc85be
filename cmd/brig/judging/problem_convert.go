package judging

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/brig-sandbox/brig/cmd/brig/cli"
	"github.com/brig-sandbox/brig/judge/problem"
	"github.com/brig-sandbox/brig/judge/problem/convert"
)

const problemConvertUsage = `
Write a package of any format that brig reads as a package of the Kattis problem package
format 2025-09, or as a directory of tests. What the format does not have is an error if
submissions would be judged in another way without it, and else a warning that names it.

Usage:
  brig problem convert PACKAGE --to kattis|dir --out DIR

Examples:
  brig problem convert polygon.zip --to kattis --out near
  brig problem convert near --to dir --out near-tests

DIR must be empty or not exist. Nothing is written if there is an error.

Exit codes: 0 if the package was written, 125 if not, 130 if it was interrupted.`

func problemConvertCommand(c *cli.CLI) *cobra.Command {
	k, f := cli.NewCommand("problem convert", problemConvertUsage)
	to := f.String("to", "", "`FORMAT` to write: kattis or dir")
	out := f.String("out", "", "`DIR` to write")
	asJSON := cli.JSONFlag(f)
	return c.Does(k, func() int {
		switch {
		case f.NArg() != 1:
			return c.Hint("problem convert", errors.New("name one package: a directory or an archive"))
		case !slices.Contains(convert.Formats(), convert.Format(*to)):
			return c.Hint("problem convert", fmt.Errorf("--to %q: write kattis or dir", *to))
		case *out == "":
			return c.Hint("problem convert", errors.New("--out says which directory to write"))
		}

		p, tree, err := OpenProblem(c, f.Arg(0))
		if err != nil {
			return c.Fail(err)
		}
		defer tree.Close()

		ctx, stop := cli.UntilInterrupt(nil)
		defer stop()

		names, warnings, err := convert.Convert(ctx, p, tree.Tree, convert.Format(*to), *out)
		if err != nil {
			return c.End(fmt.Errorf("%s cannot be written as %s:\n%w", f.Arg(0), *to, err))
		}

		if *asJSON {
			c.Stdout.Write(cli.Marshal(struct {
				Dir      string            `json:"dir"`
				Files    []string          `json:"files"`
				Warnings []problem.Finding `json:"warnings"`
			}{*out, names, append([]problem.Finding{}, warnings...)}))
			return 0
		}

		for _, one := range warnings {
			c.Note("warning: %s", one.Text)
		}

		fmt.Fprintf(c.Text(), "%s: %s of %s, %s\n", strings.TrimSuffix(*out, "/"), problem.Count(len(names), "file"),
			problem.Count(len(p.Tests), "test"), *to)
		return 0
	})
}
