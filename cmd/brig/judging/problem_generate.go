package judging

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/brig-sandbox/brig/agent/caller"
	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/cmd/brig/cli"
	"github.com/brig-sandbox/brig/cmd/brig/images"
	"github.com/brig-sandbox/brig/judge/grade/generate"
	"github.com/brig-sandbox/brig/judge/problem"
)

const problemGenerateUsage = `
Make the tests of a package that has generators instead of them, such as a standard package
of Polygon, and write the whole package as a zip archive. Generators write the inputs, and
the main solution the answers, each in a sandbox, as many at once as the agent has slots.
Validators with a build script (Kattis) are built, too. A program that fails is a mistake of
the package, and then nothing is written.

brig grade, brig problem verify and brig problem import do the same by themselves. Other
commands, and the service, take the archive.

Usage:
  brig problem generate [flags] PACKAGE --out FILE

Examples:
  brig problem generate polygon.zip --out whole.zip
  brig run --tests whole.zip solution.cpp

FILE is replaced once the new archive is whole on disk.

Exit codes: 0 if the archive was written, 125 if not, 130 if it was interrupted.`

// generateOptions is the command line of brig problem generate.
type generateOptions struct {
	out, socket          string
	quiet, noBuild, json bool
	wait                 time.Duration
}

func problemGenerateCommand(c *cli.CLI) *cobra.Command {
	o := new(generateOptions)
	k, f := cli.NewCommand("problem generate", problemGenerateUsage)
	f.StringVar(&o.out, "out", "", "`FILE` to write, a zip archive")
	f.BoolVar(&o.json, "json", false, "print JSON")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "print no progress and no note")
	cli.SlotWait(f, &o.wait)
	cli.NoBuildFlag(f, &o.noBuild)
	cli.SocketVar(f, &o.socket)
	return c.Does(k, func() int {
		switch {
		case f.NArg() != 1:
			return c.Hint("problem generate", errors.New("name one package: a directory or an archive"))
		case o.out == "":
			return c.Hint("problem generate", errors.New("--out says which file to write"))
		}

		err := checkOutFile(o.out)
		if err == nil {
			err = generateProblem(c, o, f.Arg(0))
		}
		if err != nil {
			return c.End(err)
		}
		return 0
	})
}

// generateProblem makes a package whole and writes it.
func generateProblem(c *cli.CLI, o *generateOptions, name string) error {
	p, tree, err := OpenProblem(c, name)
	if err != nil {
		return err
	}
	defer tree.Close()

	if !o.quiet {
		NoteFindings(c, name, p.Warnings)
	}

	var agent *caller.Agent
	if p.Generate != nil {
		if agent, err = c.Connect(o.socket, cli.CeilingFlags(api.Run{Limits: maxOf(p, api.Limits{})})...); err != nil {
			return err
		}
	}

	ctx, stop := cli.UntilInterrupt(agent)
	defer stop()

	files, built := 0, 0
	whole := tree.Tree
	if g := p.Generate; g != nil {
		files, built = len(g.Inputs)+len(g.Answers), len(g.Builds)
		x, err := images.NewExecutor(ctx, c.Quiet(o.quiet), agent, o.wait, o.noBuild)
		if err != nil {
			return agent.Explain(err)
		}
		var done func()
		if p, whole, done, err = makeWhole(ctx, x, o.quiet, p, tree.Tree); err != nil {
			return causeOf(ctx, agent, err)
		}
		defer done()
	}

	digest, err := writePackage(ctx, o.out, whole)
	switch {
	case err != nil:
		return err
	case o.json:
		c.Stdout.Write(cli.Marshal(struct {
			File   string `json:"file"`
			Digest string `json:"digest"`
			Made   int    `json:"made"`
			Built  int    `json:"built"`
			Tests  int    `json:"tests"`
		}{o.out, digest, files, built, len(p.Tests)}))

	default:
		programs := ""
		if built > 0 {
			programs = ", built " + problem.Count(built, "program")
		}
		fmt.Fprintf(c.Text(), "%s: %s, made %s of them%s, %s\n", o.out, problem.Count(len(p.Tests), "test"),
			problem.Count(files, "file"), programs, digest)
	}

	return nil
}

// causeOf is an error of an executor for people: why the command was interrupted, if it was.
func causeOf(ctx context.Context, agent *caller.Agent, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return agent.Explain(err)
}

// writePackage writes a package as an archive. An archive that is there stays as it is until the new one is whole.
func writePackage(ctx context.Context, name string, t *problem.Tree) (digest string, err error) {
	err = replaceOutput(name, func(w io.Writer) (err error) {
		digest, err = t.Pack(ctx, w)
		return err
	})
	return digest, err
}

// makeWhole makes what a package lacks of its tests, if it lacks anything, and returns the whole one. The caller
// calls done when its tree is no longer needed, and keeps the first tree open until then.
func makeWhole(ctx context.Context, x *images.Executor, quiet bool, p *problem.Problem,
	t *problem.Tree) (_ *problem.Problem, _ *problem.Tree, done func(), err error) {
	if p.Generate == nil {
		return p, t, func() {}, nil
	}

	made, tree, err := generate.Missing(ctx, x, p, t, generate.Options{
		Put:      x.Put(ctx),
		Alone:    x.Alone,
		Ceiling:  x.Ceiling,
		Each:     x.Each,
		Progress: func(steps int) (one, end func()) { return stepProgress(x.CLI, quiet, "making tests", "file", steps) },
	})

	var failed *generate.FailedError
	switch {
	case errors.As(err, &failed):
		return nil, nil, nil, fmt.Errorf("%s: what it lacks cannot be made:\n%w", t.Label(), err)
	case err != nil:
		return nil, nil, nil, err
	}

	made.Limits = p.Limits // those of the command line are in it
	return made, tree, func() { tree.Close() }, nil
}

// stepProgress shows how many of n steps are done: on a terminal with a bar, elsewhere in a line every ten
// seconds. one may be called by several goroutines.
func stepProgress(c *cli.CLI, quiet bool, what, unit string, n int) (one, end func()) {
	if quiet {
		return func() {}, func() {}
	}
	shown, began := c.Progress(what), time.Now()
	var mu sync.Mutex
	done := 0 // guarded by mu
	one = func() {
		mu.Lock()
		defer mu.Unlock()

		done++
		shown.SetCount(pace(done, n, unit, time.Since(began)), int64(done), int64(n))
	}
	return one, shown.Vanish
}
