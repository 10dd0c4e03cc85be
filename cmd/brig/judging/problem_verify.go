package judging

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/brig-sandbox/brig/agent/caller"
	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/cmd/brig/cli"
	"github.com/brig-sandbox/brig/cmd/brig/images"
	"github.com/brig-sandbox/brig/internal/terminal"
	"github.com/brig-sandbox/brig/judge/grade"
	"github.com/brig-sandbox/brig/judge/grade/generate"
	"github.com/brig-sandbox/brig/judge/grade/verify"
	"github.com/brig-sandbox/brig/judge/problem"
)

const problemVerifyUsage = `
Check a problem package by running all its programs, each in a sandbox:

  the input validators accept every input, and one of them refuses every invalid input;
  the output validator or the comparison accepts the jury's answers and valid outputs,
  refuses invalid outputs, and survives outputs that are empty, random or cut;
  every submission of the jury compiles and ends as its directory or submissions.yaml says,
  and with --repeat in the same way each time;
  the time limit leaves the margins of the format; without one, it is set from the
  submissions.

Usage:
  brig problem verify [flags] PACKAGE

Examples:
  brig problem verify different/
  brig problem verify different.zip --json
  brig problem verify different/ --longest 60s
  brig problem verify different/ --repeat 5

A time limit that follows from the submissions is not set on a machine where their times
differ too much: they are run three times.

What the agent has no language or image for is not run, and is listed.

Exit codes: 0 if everything holds, 1 if running shows that the package is wrong, 125 if it
cannot be read (brig problem show lists why) or brig itself failed, 130 if it was
interrupted.`

// verifyOptions is the command line of brig problem verify.
type verifyOptions struct {
	json, quiet, noBuild bool
	scale                bool
	wait, longest        time.Duration
	repeat               int
	socket               string
}

func problemVerifyCommand(c *cli.CLI) *cobra.Command {
	o := new(verifyOptions)
	k, f := cli.NewCommand("problem verify", problemVerifyUsage)
	f.BoolVar(&o.json, "json", false, "print JSON")
	f.DurationVar(&o.longest, "longest", time.Duration(verify.DefaultLongest),
		"processor time of a test while the time limit is not known; less by default if the agent allows less")
	f.BoolVar(&o.scale, "scale-cpu", false,
		"multiply the package's time limit by what brig calibrate has measured of this machine")
	f.IntVar(&o.repeat, "repeat", 1, "run each submission of the jury so often, and compare")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "print no progress")
	cli.SlotWait(f, &o.wait)
	cli.NoBuildFlag(f, &o.noBuild)
	cli.SocketVar(f, &o.socket)
	return c.Does(k, func() int {
		if f.NArg() != 1 || o.longest <= 0 || o.repeat < 1 || o.repeat > verify.MaxRepeats {
			return c.Hint("problem verify",
				fmt.Errorf("name one package, let --longest be positive, and --repeat between 1 and %d", verify.MaxRepeats))
		}

		p, tree, err := OpenProblem(c, f.Arg(0))
		if err != nil {
			return c.Fail(err)
		}
		defer tree.Close()

		var scaled float64
		if o.scale {
			if scaled, err = scaleCPU(c, new(api.Limits), p); err != nil {
				return c.Fail(err)
			}
		}

		agent, err := c.Connect(o.socket,
			cli.CeilingFlags(api.Run{Limits: maxOf(p, api.Limits{CPU: api.Duration(o.longest)})})...)
		if err != nil {
			return c.Fail(err)
		}

		ctx, stop := cli.UntilInterrupt(agent)
		defer stop()

		if !f.Changed("longest") {
			o.longest = 0 // as long as the agent allows
		}

		v, err := verifyProblem(ctx, c, agent, o, p, tree.Tree)
		var s cli.Interrupted
		switch {
		case errors.As(context.Cause(ctx), &s):
			return s.Exit()
		case err != nil:
			return c.Fail(agent.Explain(err))
		case o.json:
			v.ScaleCPU = scaled
			c.Stdout.Write(cli.Marshal(v))
		default:
			printVerification(c.Text(), v)
		}

		if !v.OK {
			return 1
		}
		return 0
	})
}

// verifyProblem verifies a package with the agent.
func verifyProblem(ctx context.Context, c *cli.CLI, agent *caller.Agent, o *verifyOptions, p *problem.Problem,
	tree *problem.Tree) (api.Verification, error) {
	x, err := images.NewExecutor(ctx, c.Quiet(o.quiet), agent, o.wait, o.noBuild)
	if err != nil {
		return api.Verification{}, err
	}

	name, format := p.Name, p.Format
	p, tree, done, err := makeWhole(ctx, x, o.quiet, p, tree)
	if err != nil {
		return wrongTests(name, format, err)
	}
	defer done()

	loader := grade.Loader{Problem: p, Tree: tree, Put: x.Put(ctx)}
	common, err := loader.Common()
	if err != nil {
		return api.Verification{}, cli.WithSizeRemedy(err)
	}
	if err := x.PrepareChecker(ctx, common); err != nil {
		return api.Verification{}, err
	}

	v, err := verify.Package(ctx, x, loader, common,
		verify.Options{Longest: api.Duration(o.longest), Ceiling: x.Ceiling, Repeat: o.repeat,
			Progress: runProgress(c, o.quiet, "jury run")})
	return v, cli.WithSizeRemedy(err)
}

// printVerification prints what came of it for people.
func printVerification(w io.Writer, v api.Verification) {
	if len(v.Submissions) > 0 {
		t := cli.AlignedTable(w)
		fmt.Fprintln(t, "SUBMISSION\tLANGUAGE\tSLOWEST\tGOT\tEXPECTED\tOK")

		for _, s := range v.Submissions {
			ok := "yes"
			switch {
			case len(s.Unexpected) > 0:
				ok = "NO"
			case s.Got == "not run":
				ok = "-"
			}

			got := s.Got
			if s.Points != nil {
				got += fmt.Sprintf(", %.4g points", *s.Points)
			}

			fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", terminal.OneLine(s.Path), cmp.Or(s.Language, "-"), short(s.Slowest), got,
				terminal.OneLine(s.Expected), ok)
		}

		t.Flush()
	}

	if l := v.TimeLimit; l != nil {
		text := fmt.Sprintf("time limit %s", l.Limit)
		accepted, tooSlow := l.Margins()
		if l.By != "" {
			text += fmt.Sprintf("; slowest that must not be too slow: %s (%s, %sx below)",
				short(l.Slowest), l.By, times(accepted))
		}
		if l.FastestBy != "" {
			text += fmt.Sprintf("; fastest that must be: %s (%s, %sx above)", short(l.Fastest), l.FastestBy, times(tooSlow))
		}
		fmt.Fprintln(w, terminal.OneLine(text))
	}

	for _, list := range []struct {
		name  string
		lines []string
	}{{"warning", v.Warnings}, {"not run", v.NotRun}, {"mistake", v.Mistakes}} {
		for _, line := range list.lines {
			fmt.Fprintf(w, "%s: %s\n", list.name, terminal.OneLine(line))
		}
	}

	verdict := "the package is right"
	if !v.OK {
		verdict = "the package is wrong"
	} else if len(v.NotRun) > 0 {
		verdict = "nothing that was run is wrong"
	}

	fmt.Fprintf(w, "%s: %s\n", terminal.OneLine(v.Problem), verdict)
}

// times is a factor with three digits.
func times(factor float64) string {
	if factor >= 100 {
		return strconv.FormatFloat(factor, 'f', 0, 64) // and no exponent
	}
	return strconv.FormatFloat(factor, 'g', 3, 64)
}

// wrongTests is what came of a package whose programs do not make its tests: that is a mistake of it.
func wrongTests(name, format string, err error) (api.Verification, error) {
	var failed *generate.FailedError
	if !errors.As(err, &failed) {
		return api.Verification{}, err
	}
	v := api.Verification{Problem: name, Format: format, Mistakes: []string{}, Warnings: []string{}, NotRun: []string{},
		Submissions: []api.VerifiedSubmission{}}
	for _, f := range failed.Sorted() {
		v.Mistakes = append(v.Mistakes, f.String())
	}
	return v, nil
}
