// Package judging has the commands of problem packages and of grades, and judges what was handed in.
package judging

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/brig-sandbox/brig/agent/caller"
	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/cmd/brig/cli"
	"github.com/brig-sandbox/brig/cmd/brig/images"
	"github.com/brig-sandbox/brig/internal/terminal"
	"github.com/brig-sandbox/brig/judge/grade"
	"github.com/brig-sandbox/brig/judge/grade/class"
	"github.com/brig-sandbox/brig/judge/problem"
	"github.com/brig-sandbox/brig/judge/suite"
)

// A Grading is a class.Grading with what the command line says.
type Grading struct {
	*images.Executor
	*class.Grading
	Options *GradeOptions
	done    func() // releases the tests that were made for the package
}

// newGrading finds the submissions and their languages, and reads what they are judged by.
func newGrading(ctx context.Context, c *cli.CLI, agent *caller.Agent, o *GradeOptions, p *problem.Problem,
	tree *problem.Tree, args []string) (*Grading, error) {
	x, err := images.NewExecutor(ctx, c.Quiet(o.Quiet), agent, o.wait, o.noBuild)
	if err != nil {
		return nil, err
	}

	g := &Grading{Executor: x, Options: o, done: func() {}, Grading: &class.Grading{Agent: x, Known: x.Languages,
		Loader:  grade.Loader{Problem: p, Tree: tree, Put: x.Put(ctx)},
		Program: o.suite.SourceName, Why: whyNot, Progress: runProgress(c, o.Quiet, "submission")}}
	if !o.Quiet {
		g.Note = c.Note
	}
	if o.suite.Report != "" {
		o.Run.Language = o.suite.Language(o.Run.Language, tree)
	}
	if o.Run.Language != "" {
		if _, err := cli.LanguageOf(x.Languages, o.Run.Language, cli.Source{}); err != nil {
			return nil, err
		}
	}

	var tests *problem.Tree
	if o.suite.Report != "" {
		tests = tree
	}
	if g.Submissions, err = o.finder(x.Languages, tests).Find(args); err != nil {
		return nil, err
	}
	if err := o.rerun.Read(o.reportFile()); err != nil {
		return nil, err
	}
	if g.Submissions, err = o.rerun.Select(g.Submissions); err != nil {
		return nil, err
	}
	if err := g.prepareSuite(ctx); err != nil {
		return nil, err
	}

	g.LanguageNames = make([]string, len(g.Submissions))
	for i := range g.Submissions {
		if s := &g.Submissions[i]; s.Err == nil {
			var l api.Language
			if l, s.Err = x.Prepare(ctx, o.Run.Language,
				cli.Source{Ext: filepath.Ext(s.Main), Interpreter: cli.Interpreter(s.Text)}); s.Err == nil {
				g.LanguageNames[i] = l.Name
			}
		}
	}

	if g.Loader.Problem, g.Loader.Tree, g.done, err = makeWhole(ctx, x, o.Quiet, p, tree); err != nil {
		return nil, err
	}
	if err := errors.Join(g.ReadProblem(ctx), o.rerun.Check(g.Grading, o.factor)); err != nil {
		g.done()
		return nil, err
	}
	return g, nil
}

// finder finds submissions in one of all languages. tests are the files of a suite; nil: there is none.
func (o *GradeOptions) finder(all []api.Language, tests *problem.Tree) grade.Finder {
	f := grade.Finder{
		IsSource: func(name string, text func() []byte) bool {
			_, err := cli.LanguageOf(all, o.Run.Language, cli.Source{Ext: filepath.Ext(name), Interpreter: cli.Interpreter(text())})
			return err == nil
		},
		Ignore: func(base string) bool {
			return slices.ContainsFunc(o.ignore, func(p string) bool { ok, _ := path.Match(p, base); return ok })
		},
		Program: o.suite.SourceName,
	}

	if tests != nil {
		f.Replaced = func(name string) bool { return tests.Has(name) || suite.Configures(name) }
	}
	return f
}

// ReadProblem fills in what all submissions have in common. What the command line says takes precedence
// over the package.
func (g *Grading) ReadProblem(ctx context.Context) error {
	common, err := g.Loader.Common()
	if err != nil {
		return fmt.Errorf("%s: %w", g.Loader.Tree.Label(), cli.WithSizeRemedy(err))
	}
	if err := g.PrepareChecker(ctx, common); err != nil {
		return err
	}
	g.Common = g.Options.Run
	g.Common.KeepOutput, g.Common.Collect.None = class.Output, true
	grade.Apply(&g.Common, common, g.Loader.Problem.Limits.Time, g.Ceiling)
	return nil
}

// whyNot says in one line why the first test that was not accepted failed, or why none ran.
func whyNot(ctx context.Context, res api.Result, first string) string {
	if res.Verdict == api.Canceled {
		if err := context.Cause(ctx); err != nil {
			return err.Error()
		}
		return "it was canceled"
	}

	for _, one := range res.Tests {
		if one.ID == first {
			return cli.FailureText(one)
		}
	}

	if d := res.Diagnosis; d != nil && res.Verdict == api.CompileError {
		return cli.PositionText(*d) + d.Message
	}
	if res.Verdict == api.CompileError {
		_, why, _ := strings.Cut(cli.VerdictText(res, ""), ": ")
		return why
	}
	return ""
}

// gradeTable is how the table is written.
func gradeTable(c *cli.CLI, words grade.Words) grade.Table {
	return grade.Table{Words: words, Width: cli.TerminalWidth(c.Stdout), Color: colors(c, c.Stdout), Escape: terminal.OneLine}
}

// colors reports whether text on w may have colors: w is a terminal, and its user has not refused them
// (https://no-color.org).
func colors(c *cli.CLI, w any) bool {
	return cli.IsTerminal(w) && c.Env("NO_COLOR") == "" && c.Env("TERM") != "dumb"
}
