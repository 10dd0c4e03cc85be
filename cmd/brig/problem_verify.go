package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/grade"
	"github.com/brig-sandbox/brig/problem"
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
  brig problem verify [flags] DIR

Examples:
  brig problem verify different/
  brig problem verify different.zip --json
  brig problem verify different/ --longest 60s
  brig problem verify different/ --repeat 5

A time limit that follows from the submissions is not set on a machine where their times
differ too much: they are run three times.

What the agent has no language or image for is not run, and is listed.

Exit codes: 0 if everything holds, 1 if the package is wrong, 125 if brig itself failed.`

const mostRepeats = 100

// verifyOptions is the command line of brig problem verify.
type verifyOptions struct {
	json, quiet, noBuild bool
	scale                bool
	wait, longest        time.Duration
	repeat               int
	socket               string
}

func problemVerifyCommand(c *cli) *cobra.Command {
	o := new(verifyOptions)
	k, f := newCommand("problem verify", problemVerifyUsage)
	f.BoolVar(&o.json, "json", false, "print JSON")
	f.DurationVar(&o.longest, "longest", defaultLongest, "processor time of a test while the time limit is not known")
	f.BoolVar(&o.scale, "scale-cpu", false, "multiply the package's time limit by what brig calibrate has measured of this machine")
	f.IntVar(&o.repeat, "repeat", 1, "run each submission of the jury so often, and compare")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "print no progress")
	f.DurationVar(&o.wait, "wait", 10*time.Minute, "how long to wait while other runs have every slot")
	f.BoolVar(&o.noBuild, "no-build", false, "do not build a missing language image")
	f.StringVar(&o.socket, "socket", "", "`PATH` of the agent's socket (default $BRIG_SOCKET, or "+defaultSocket+")")
	return c.does(k, func() int {
		if f.NArg() != 1 || o.longest <= 0 || o.repeat < 1 || o.repeat > mostRepeats {
			return c.hint("problem verify", fmt.Errorf("name one package, let --longest be positive, and --repeat between 1 and %d", mostRepeats))
		}
		p, tree, err := c.openProblem(f.Arg(0))
		if err != nil {
			return c.fail(err)
		}
		defer tree.Close()
		var scaled float64
		if o.scale {
			if scaled, err = c.scaleCPU(new(api.Limits), p); err != nil {
				return c.fail(err)
			}
		}
		agent, err := c.connect(o.socket, ceilingFlags(api.Run{Limits: grade.WithTime(api.Limits{}, api.Duration(o.longest))})...)
		if err != nil {
			return c.fail(err)
		}
		ctx, stop := untilInterrupt(agent)
		defer stop()
		v, err := c.verifyProblem(ctx, agent, o, p, tree.Tree)
		var s interrupted
		switch {
		case errors.As(context.Cause(ctx), &s):
			return s.exit()
		case err != nil:
			return c.fail(agent.explain(err))
		case o.json:
			v.ScaleCPU = scaled
			c.stdout.Write(marshal(v))
		default:
			v.print(c.text())
		}
		if !v.OK {
			return 1
		}
		return 0
	})
}

// A verified is what came of verifying a package.
type verified struct {
	Problem     string           `json:"problem"`
	Format      string           `json:"format"`
	OK          bool             `json:"ok"`
	TimeLimit   *grade.TimeLimit `json:"time_limit,omitempty"`
	ScaleCPU    float64          `json:"scale_cpu,omitempty"` // the package's time limit was multiplied by it
	Mistakes    []string         `json:"mistakes"`
	Warnings    []string         `json:"warnings"`
	NotRun      []string         `json:"not_run"` // what was not verified, and why
	Submissions []verifiedJury   `json:"submissions"`
}

// A verifiedJury is what came of one submission of the jury.
type verifiedJury struct {
	Path       string            `json:"path"`
	Language   string            `json:"language"`
	Expected   string            `json:"expected"`
	Got        string            `json:"got"`               // outcomes of its tests, each with how many
	Slowest    api.Duration      `json:"slowest,omitempty"` // processor time of its slowest test
	Points     *float64          `json:"points,omitempty"`
	Unexpected []string          `json:"unexpected,omitempty"`
	Tests      map[string]string `json:"tests,omitempty"` // outcome of each test
}

// A verifier verifies one package on one agent.
type verifier struct {
	*executor
	o      *verifyOptions
	loader grade.Loader
	common api.Run
	v      *verified
}

func (c *cli) verifyProblem(ctx context.Context, agent *agentHandle, o *verifyOptions, p *problem.Problem, tree *problem.Tree) (*verified, error) {
	x, err := c.newExecutor(ctx, agent, o.wait, o.noBuild)
	if err != nil {
		return nil, err
	}
	v := &verifier{executor: x, o: o, loader: grade.Loader{Problem: p, Tree: tree, Put: x.put(ctx)},
		v: &verified{Problem: p.Name, Format: p.Format, Mistakes: []string{}, Warnings: []string{}, NotRun: []string{}, Submissions: []verifiedJury{}}}
	for _, f := range p.Warnings {
		v.warn("%s", f)
	}
	if v.common, err = v.loader.Common(); err != nil {
		return nil, err
	}
	if err := x.prepareChecker(ctx, v.common); err != nil {
		return nil, err
	}
	for _, step := range []func(context.Context) error{v.inputs, v.outputs, v.jury} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	v.v.OK = len(v.v.Mistakes) == 0
	return v.v, nil
}

func (v *verifier) mistake(format string, args ...any) {
	v.v.Mistakes = append(v.v.Mistakes, fmt.Sprintf(format, args...))
}

func (v *verifier) warn(format string, args ...any) {
	v.v.Warnings = append(v.v.Warnings, fmt.Sprintf(format, args...))
}

func (v *verifier) notRun(format string, args ...any) {
	v.v.NotRun = append(v.v.NotRun, fmt.Sprintf(format, args...))
}

// print prints what came of it for people.
func (v *verified) print(w io.Writer) {
	if len(v.Submissions) > 0 {
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
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
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", oneLine(s.Path), orDefault(s.Language, "-"), short(s.Slowest), got, oneLine(s.Expected), ok)
		}
		t.Flush()
	}
	if l := v.TimeLimit; l != nil {
		text := fmt.Sprintf("time limit %s", l.Limit)
		accepted, tooSlow := l.Margins()
		if l.By != "" {
			text += fmt.Sprintf("; slowest that must not be too slow: %s (%s, %.3gx below)", short(l.Slowest), l.By, accepted)
		}
		if l.FastestBy != "" {
			text += fmt.Sprintf("; fastest that must be: %s (%s, %.3gx above)", short(l.Fastest), l.FastestBy, tooSlow)
		}
		fmt.Fprintln(w, oneLine(text))
	}
	for _, list := range []struct {
		name  string
		lines []string
	}{{"warning", v.Warnings}, {"not run", v.NotRun}, {"mistake", v.Mistakes}} {
		for _, line := range list.lines {
			fmt.Fprintf(w, "%s: %s\n", list.name, oneLine(line))
		}
	}
	verdict := "the package is right"
	if !v.OK {
		verdict = "the package is wrong"
	} else if len(v.NotRun) > 0 {
		verdict = "nothing that was run is wrong"
	}
	fmt.Fprintf(w, "%s: %s\n", oneLine(v.Problem), verdict)
}
