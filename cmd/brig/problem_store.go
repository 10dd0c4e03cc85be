package main

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
	"github.com/brig-sandbox/brig/internal/terminal"
	"github.com/brig-sandbox/brig/judge/diagnose"
	"github.com/brig-sandbox/brig/judge/grade"
	"github.com/brig-sandbox/brig/judge/problem"
	"github.com/brig-sandbox/brig/judge/problem/format"
	"github.com/brig-sandbox/brig/judge/problem/store"
)

// problemStore is the user's own store of packages: $BRIG_PROBLEMS, or brig/problems in the directory for
// data of the XDG base directory specification.
func (c *cli) problemStore() (store.Store, error) {
	if dir := c.env("BRIG_PROBLEMS"); dir != "" {
		if !filepath.IsAbs(dir) {
			return store.Store{}, fmt.Errorf("BRIG_PROBLEMS is %q: must be an absolute path", dir)
		}
		return store.Store{Dir: dir}, nil
	}
	data, err := c.dataDir()
	return store.Store{Dir: filepath.Join(data, "problems")}, err
}

// dataDir is where brig keeps data of the user, by the XDG base directory specification.
func (c *cli) dataDir() (string, error) {
	data := c.env("XDG_DATA_HOME")
	if !filepath.IsAbs(data) { // the specification says to ignore a relative one
		home := c.env("HOME")
		if !filepath.IsAbs(home) {
			return "", errors.New("neither HOME nor XDG_DATA_HOME says where your data are: set XDG_DATA_HOME to a directory")
		}
		data = filepath.Join(home, ".local", "share")
	}
	return filepath.Join(data, "brig"), nil
}

// openPackage opens a directory or an archive, or the problem that was imported under a name. What there is
// in the directory takes precedence.
func (c *cli) openPackage(name string) (*problem.Tree, error) {
	_, err := os.Stat(name)
	if !errors.Is(err, fs.ErrNotExist) || store.CheckName(name) != nil {
		return problem.Open(name)
	}

	s, err := c.problemStore()
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

func problemImportCommand(c *cli) *cobra.Command {
	o := new(importOptions)
	k, f := newCommand("problem import", problemImportUsage)
	f.StringVar(&o.name, "name", "", "`NAME` to store it under (default: that of the package)")
	f.BoolVar(&o.noCompile, "no-compile", false, "do not compile its checker; no agent is needed")
	noBuildFlag(f, &o.noBuild)
	slotWait(f, &o.wait)
	f.BoolVar(&o.json, "json", false, "print JSON")
	socketVar(f, &o.socket)
	return c.does(k, func() int {
		if f.NArg() != 1 {
			return c.hint("problem import", errors.New("name one package: a directory or an archive"))
		}

		e, changed, err := c.importProblem(o, f.Arg(0))
		switch {
		case err != nil:
			return c.end(err)
		case o.json:
			c.stdout.Write(marshal(e))
		default:
			what := "stored"
			if !changed {
				what = "was stored already"
			}
			fmt.Fprintf(c.text(), "%s %s: %s, %s, %s, %s\n", e.Name, what, e.Format, problem.Count(e.Tests, "test"),
				e.Bytes.About(), e.Digest)
		}

		return 0
	})
}

func (c *cli) importProblem(o *importOptions, name string) (e store.Entry, changed bool, err error) {
	whole, err := problem.Open(name)
	if err != nil {
		return e, false, err
	}
	defer whole.Close()

	p, tree, err := format.Read(whole)
	if err != nil {
		return e, false, err
	}

	c.noteFindings(name, p.Warnings)
	as := cmp.Or(o.name, withoutArchive(p.Name))
	if err := store.CheckName(as); err != nil {
		return e, false, fmt.Errorf("%w; --name sets it", err)
	}

	s, err := c.problemStore()
	if err != nil {
		return e, false, err
	}
	if p.Generate != nil && o.noCompile {
		return e, false, fmt.Errorf("%s: %w; --no-compile needs a whole package", name, p.Whole())
	}

	var agent *caller.Agent
	if !o.noCompile && (p.Generate != nil || p.Checker != nil || p.Interactor != nil) {
		if agent, err = c.connect(o.socket, ceilingFlags(api.Run{Limits: maxOf(p, api.Limits{})})...); err != nil {
			return e, false, importNeedsAgent(p, err)
		}
	}

	ctx, stop := untilInterrupt(agent)
	defer stop()

	if agent != nil {
		var done func()
		if p, tree, done, err = c.makeReady(ctx, agent, o, p, tree); err != nil {
			return e, false, causeOf(ctx, agent, err)
		}
		defer done()
	}

	shown := c.progress("storing " + as)
	defer shown.end()

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
func (c *cli) makeReady(ctx context.Context, agent *caller.Agent, o *importOptions, p *problem.Problem,
	t *problem.Tree) (*problem.Problem, *problem.Tree, func(), error) {
	x, err := c.newExecutor(ctx, agent, o.wait, o.noBuild)
	if err != nil {
		return nil, nil, nil, err
	}

	p, t, done, err := x.whole(ctx, false, p, t)
	if err != nil {
		return nil, nil, nil, err
	}

	for _, one := range []*problem.Program{p.Checker, p.Interactor} {
		if one == nil {
			continue
		}
		if err := x.compileJudge(ctx, grade.Loader{Problem: p, Tree: t}, *one); err != nil {
			done()
			return nil, nil, nil, err
		}
	}

	return p, t, done, nil
}

// compileJudge compiles one program of a package, and starts it once without arguments: how it ends says
// nothing.
func (x *executor) compileJudge(ctx context.Context, l grade.Loader, p problem.Program) error {
	language, err := x.prepare(ctx, p.Language, source{})
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
	shown := x.c.progress("compiling " + p.Name)
	res, failed := x.Run(ctx, r, nil)
	shown.end()
	switch {
	case failed != nil:
		return failed
	case res.Verdict == api.CompileError:
		diagnose.Annotate(r.Language, r.SourceName, r.Source, &res)
		if d := res.Diagnosis; d != nil {
			return fmt.Errorf("%s does not compile: %s%s", p.Main, positionText(*d), d.Message)
		}
		return fmt.Errorf("%s does not compile: %s", p.Main, verdictText(res, ""))
	}

	return nil
}

const problemListUsage = `
List the problems that were imported.

Usage:
  brig problem ls [--json]

Examples:
  brig problem ls`

func problemListCommand(c *cli) *cobra.Command {
	k, f := newCommand("problem ls", problemListUsage)
	asJSON := jsonFlag(f)
	return c.does(k, func() int {
		if f.NArg() != 0 {
			return c.hint("problem ls", errors.New("problem ls has no arguments"))
		}

		s, err := c.problemStore()
		if err != nil {
			return c.fail(err)
		}

		all, err := s.List()
		switch {
		case err != nil:
			return c.fail(err)
		case *asJSON:
			c.stdout.Write(marshal(append([]store.Entry{}, all...)))
			return 0
		case len(all) == 0:
			c.note("no problem was imported: brig problem import PACKAGE")
			return 0
		}

		t := alignedTable(c.text())
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

func problemRemoveCommand(c *cli) *cobra.Command {
	k, f := newCommand("problem rm", problemRemoveUsage)
	return c.does(k, func() int {
		if f.NArg() == 0 {
			return c.hint("problem rm", errors.New("problem rm needs the NAME of a problem: brig problem ls lists them"))
		}

		s, err := c.problemStore()
		if err != nil {
			return c.fail(err)
		}

		for _, name := range f.Args() { // before anything is removed
			if _, err := s.Entry(name); err != nil {
				return c.fail(err)
			}
		}

		for _, name := range f.Args() {
			if _, err := s.Remove(name); err != nil {
				return c.fail(err)
			}
			fmt.Fprintf(c.text(), "%s removed\n", name)
		}

		return 0
	})
}
