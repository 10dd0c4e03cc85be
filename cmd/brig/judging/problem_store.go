package judging

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/brig-sandbox/brig/agent/caller"
	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/cmd/brig/cli"
	"github.com/brig-sandbox/brig/cmd/brig/images"
	"github.com/brig-sandbox/brig/internal/terminal"
	"github.com/brig-sandbox/brig/judge/diagnose"
	"github.com/brig-sandbox/brig/judge/grade"
	"github.com/brig-sandbox/brig/judge/problem"
	"github.com/brig-sandbox/brig/judge/problem/format"
	"github.com/brig-sandbox/brig/judge/problem/store"
)

// problemStore is the user's own store of packages: $BRIG_PROBLEMS, or brig/problems in the directory for
// data of the XDG base directory specification.
func problemStore(c *cli.CLI) (store.Store, error) {
	if dir := c.Env("BRIG_PROBLEMS"); dir != "" {
		if !filepath.IsAbs(dir) {
			return store.Store{}, fmt.Errorf("BRIG_PROBLEMS is %q: must be an absolute path", dir)
		}
		return store.Store{Dir: dir}, nil
	}
	data, err := c.DataDir()
	return store.Store{Dir: filepath.Join(data, "problems")}, err
}

// openPackage opens a directory or an archive, or the problem that was imported under a name. What there is
// in the directory takes precedence.
func openPackage(c *cli.CLI, name string) (*problem.Tree, error) {
	_, err := os.Stat(name)
	if !errors.Is(err, fs.ErrNotExist) || store.CheckName(name) != nil {
		return problem.Open(name)
	}

	s, err := problemStore(c)
	if err != nil {
		return nil, err
	}

	tree, _, err := s.Open(name)
	if errors.Is(err, store.ErrNone) {
		return nil, fmt.Errorf("%s: there is no such directory or file, and no problem was imported with this name", name)
	}
	return tree, err
}

const problemImportUsage = `
Store a problem package under a name, so that "brig grade NAME" judges by it. Its checker
or interactor is compiled now, and later runs begin at once. Tests that the package lacks
are made by its generators first (see brig problem generate). A package with mistakes, or
whose programs fail or do not compile, is refused, and nothing changes. A package that had
the name is replaced.

Usage:
  brig problem import [flags] PACKAGE

Examples:
  brig problem import different.zip
  brig problem import different/ --name week3
  brig grade week3 submissions/

The packages are in $BRIG_PROBLEMS, or $XDG_DATA_HOME/brig/problems, by default
~/.local/share/brig/problems.

Exit codes: 0 if it is stored, 125 if not, 130 if it was interrupted.`

// importOptions is the command line of brig problem import.
type importOptions struct {
	name, socket             string
	noCompile, noBuild, json bool
	wait                     time.Duration
}

func problemImportCommand(c *cli.CLI) *cobra.Command {
	o := new(importOptions)
	k, f := cli.NewCommand("problem import", problemImportUsage)
	f.StringVar(&o.name, "name", "", "`NAME` to store it under (default: that of the package)")
	f.BoolVar(&o.noCompile, "no-compile", false, "do not compile its checker; no agent is needed")
	cli.NoBuildFlag(f, &o.noBuild)
	cli.SlotWait(f, &o.wait)
	f.BoolVar(&o.json, "json", false, "print JSON")
	cli.SocketVar(f, &o.socket)
	return c.Does(k, func() int {
		if f.NArg() != 1 {
			return c.Hint("problem import", errors.New("name one package: a directory or an archive"))
		}

		e, changed, err := importProblem(c, o, f.Arg(0))
		switch {
		case err != nil:
			return c.End(err)
		case o.json:
			c.Stdout.Write(cli.Marshal(e))
		default:
			what := "stored"
			if !changed {
				what = "was stored already"
			}
			fmt.Fprintf(c.Text(), "%s %s: %s, %s, %s, %s\n", e.Name, what, e.Format, problem.Count(e.Tests, "test"),
				e.Bytes.About(), e.Digest)
		}

		return 0
	})
}

func importProblem(c *cli.CLI, o *importOptions, name string) (e store.Entry, changed bool, err error) {
	whole, err := problem.Open(name)
	if err != nil {
		return e, false, err
	}
	defer whole.Close()

	p, tree, err := format.Read(whole)
	if err != nil {
		return e, false, err
	}

	NoteFindings(c, name, p.Warnings)
	as := cmp.Or(o.name, withoutArchive(p.Name))
	if err := store.CheckName(as); err != nil {
		return e, false, fmt.Errorf("%w; --name sets it", err)
	}

	s, err := problemStore(c)
	if err != nil {
		return e, false, err
	}
	if p.Generate != nil && o.noCompile {
		return e, false, fmt.Errorf("%s: %w; --no-compile needs a whole package", name, p.Whole())
	}

	var agent *caller.Agent
	if !o.noCompile && (p.Generate != nil || p.Checker != nil || p.Interactor != nil) {
		if agent, err = c.Connect(o.socket, cli.CeilingFlags(api.Run{Limits: maxOf(p, api.Limits{})})...); err != nil {
			return e, false, importNeedsAgent(p, err)
		}
	}

	ctx, stop := cli.UntilInterrupt(agent)
	defer stop()

	if agent != nil {
		var done func()
		if p, tree, done, err = makeReady(ctx, c, agent, o, p, tree); err != nil {
			return e, false, causeOf(ctx, agent, err)
		}
		defer done()
	}

	shown := c.Progress("storing " + as)
	defer shown.End()

	return s.Put(ctx, as, p, tree)
}

func importNeedsAgent(p *problem.Problem, err error) error {
	if p.Generate != nil {
		return fmt.Errorf("%w; the package's tests are made by its own programs", err)
	}
	return fmt.Errorf("%w; to store the package without compiling its checker: --no-compile", err)
}

// withoutArchive is a name without the ending of an archive.
func withoutArchive(name string) string {
	for _, ending := range []string{".zip", ".tar", ".tar.gz", ".tgz", ".tar.zst"} {
		if stem, ok := strings.CutSuffix(name, ending); ok && stem != "" {
			return stem
		}
	}
	return name
}

// makeReady makes the tests that the package lacks, and has the agent compile the checker and the interactor:
// what it has of them it keeps among the programs that it has compiled.
func makeReady(ctx context.Context, c *cli.CLI, agent *caller.Agent, o *importOptions, p *problem.Problem,
	t *problem.Tree) (*problem.Problem, *problem.Tree, func(), error) {
	x, err := images.NewExecutor(ctx, c, agent, o.wait, o.noBuild)
	if err != nil {
		return nil, nil, nil, err
	}

	p, t, done, err := makeWhole(ctx, x, false, p, t)
	if err != nil {
		return nil, nil, nil, err
	}

	for _, one := range []*problem.Program{p.Checker, p.Interactor} {
		if one == nil {
			continue
		}
		if err := compileJudge(ctx, x, grade.Loader{Problem: p, Tree: t}, *one); err != nil {
			done()
			return nil, nil, nil, err
		}
	}

	return p, t, done, nil
}

// compileJudge compiles one program of a package, and starts it once without arguments: how it ends says
// nothing.
func compileJudge(ctx context.Context, x *images.Executor, l grade.Loader, p problem.Program) error {
	language, err := x.Prepare(ctx, p.Language, cli.Source{})
	if err != nil || language.CompileTier == "" || len(p.Command) > 0 {
		return err
	}

	r, err := l.Run(p)
	if err != nil {
		return err
	}

	r.Language, r.Collect.None = language.Name, true
	r.Limits = api.Limits{CPU: api.Duration(time.Second),
		Wall: api.BusyWall(api.Duration(time.Second))}.CappedBy(x.Ceiling)
	shown := x.CLI.Progress("compiling " + p.Name)
	res, failed := x.Run(ctx, r, nil)
	shown.End()
	switch {
	case failed != nil:
		return failed
	case res.Verdict == api.CompileError:
		diagnose.Annotate(r.Language, r.SourceName, r.Source, &res)
		if d := res.Diagnosis; d != nil {
			return fmt.Errorf("%s does not compile: %s%s", p.Main, cli.PositionText(*d), d.Message)
		}
		return fmt.Errorf("%s does not compile: %s", p.Main, cli.VerdictText(res, ""))
	}

	return nil
}

const problemListUsage = `
List the problems that were imported.

Usage:
  brig problem ls [--json]

Examples:
  brig problem ls`

func problemListCommand(c *cli.CLI) *cobra.Command {
	k, f := cli.NewCommand("problem ls", problemListUsage)
	asJSON := cli.JSONFlag(f)
	return c.Does(k, func() int {
		if f.NArg() != 0 {
			return c.Hint("problem ls", errors.New("problem ls has no arguments"))
		}

		s, err := problemStore(c)
		if err != nil {
			return c.Fail(err)
		}

		all, err := s.List()
		switch {
		case err != nil:
			return c.Fail(err)
		case *asJSON:
			c.Stdout.Write(cli.Marshal(append([]store.Entry{}, all...)))
			return 0
		case len(all) == 0:
			c.Note("no problem was imported: brig problem import PACKAGE")
			return 0
		}

		t := cli.AlignedTable(c.Text())
		fmt.Fprintln(t, "NAME\tFORMAT\tTESTS\tSIZE\tSTORED\tTITLE")
		for _, e := range all {
			fmt.Fprintf(t, "%s\t%s\t%d\t%s\t%s\t%s\n", e.Name, e.Format, e.Tests, e.Bytes.About(),
				e.Stored.Format("2006-01-02 15:04"), terminal.OneLine(e.Title))
		}

		t.Flush()
		return 0
	})
}

const problemRemoveUsage = `
Remove problems that were imported.

Usage:
  brig problem rm NAME...

Examples:
  brig problem rm week3`

func problemRemoveCommand(c *cli.CLI) *cobra.Command {
	k, f := cli.NewCommand("problem rm", problemRemoveUsage)
	return c.Does(k, func() int {
		if f.NArg() == 0 {
			return c.Hint("problem rm", errors.New("problem rm needs the NAME of a problem: brig problem ls lists them"))
		}

		s, err := problemStore(c)
		if err != nil {
			return c.Fail(err)
		}

		for _, name := range f.Args() { // before anything is removed
			if _, err := s.Entry(name); err != nil {
				return c.Fail(err)
			}
		}

		for _, name := range f.Args() {
			if _, err := s.Remove(name); err != nil {
				return c.Fail(err)
			}
			fmt.Fprintf(c.Text(), "%s removed\n", name)
		}

		return 0
	})
}
