package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/agent/caller"
	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/terminal"
	"github.com/brig-sandbox/brig/judge/grade"
	"github.com/brig-sandbox/brig/judge/grade/class"
	"github.com/brig-sandbox/brig/judge/problem"
	"github.com/brig-sandbox/brig/judge/suite"
)

// A grading is a class.Grading with what the command line says.
type grading struct {
	*executor
	*class.Grading
	o    *gradeOptions
	done func() // releases the tests that were made for the package
}

// newGrading finds the submissions and their languages, and reads what they are judged by.
func (c *cli) newGrading(ctx context.Context, agent *caller.Agent, o *gradeOptions, p *problem.Problem,
	tree *problem.Tree, args []string) (*grading, error) {
	x, err := c.newExecutor(ctx, agent, o.wait, o.noBuild)
	if err != nil {
		return nil, err
	}

	g := &grading{executor: x, o: o, done: func() {}, Grading: &class.Grading{Agent: x, Known: x.Languages,
		Loader:  grade.Loader{Problem: p, Tree: tree, Put: x.Put(ctx)},
		Program: o.suite.sourceName, Why: whyNot, Progress: c.runProgress(o.quiet, "submission")}}
	if !o.quiet {
		g.Note = c.note
	}
	if o.suite.report != "" {
		o.run.Language = o.suite.language(o.run.Language, tree)
	}
	if o.run.Language != "" {
		if _, err := languageOf(x.Languages, o.run.Language, source{}); err != nil {
			return nil, err
		}
	}

	var tests *problem.Tree
	if o.suite.report != "" {
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
			if l, s.Err = x.prepare(ctx, o.run.Language,
				source{ext: filepath.Ext(s.Main), interpreter: interpreter(s.Text)}); s.Err == nil {
				g.LanguageNames[i] = l.Name
			}
		}
	}

	if g.Loader.Problem, g.Loader.Tree, g.done, err = x.whole(ctx, o.quiet, p, tree); err != nil {
		return nil, err
	}
	if err := errors.Join(g.readProblem(ctx), o.rerun.Check(g.Grading, o.factor)); err != nil {
		g.done()
		return nil, err
	}
	return g, nil
}

// finder finds submissions in one of all languages. tests are the files of a suite; nil: there is none.
func (o *gradeOptions) finder(all []api.Language, tests *problem.Tree) grade.Finder {
	f := grade.Finder{
		IsSource: func(name string, text func() []byte) bool {
			_, err := languageOf(all, o.run.Language, source{ext: filepath.Ext(name), interpreter: interpreter(text())})
			return err == nil
		},
		Ignore: func(base string) bool {
			return slices.ContainsFunc(o.ignore, func(p string) bool { ok, _ := path.Match(p, base); return ok })
		},
		Program: o.suite.sourceName,
	}

	if tests != nil {
		f.Replaced = func(name string) bool { return tests.Has(name) || suite.Configures(name) }
	}
	return f
}

// readProblem fills in what all submissions have in common. What the command line says takes precedence
// over the package.
func (g *grading) readProblem(ctx context.Context) error {
	common, err := g.Loader.Common()
	if err != nil {
		return fmt.Errorf("%s: %w", g.Loader.Tree.Label(), withSizeRemedy(err))
	}
	if err := g.prepareChecker(ctx, common); err != nil {
		return err
	}
	g.Common = g.o.run
	g.Common.KeepOutput, g.Common.Collect.None = class.Output, true
	grade.Apply(&g.Common, common, g.Loader.Problem.Limits.Time, g.Ceiling)
	return nil
}

// prepareChecker builds the image of the checker or interactor, if it is missing.
func (x *executor) prepareChecker(ctx context.Context, r api.Run) error {
	language := ""
	if r.Check != nil {
		language = r.Check.Language
	}
	if r.Interactor != nil {
		language = r.Interactor.Language
	}
	if language == "" {
		return nil
	}
	_, err := x.prepare(ctx, language, source{})
	return err
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
			return failureText(one)
		}
	}

	if d := res.Diagnosis; d != nil && res.Verdict == api.CompileError {
		return positionText(*d) + d.Message
	}
	if res.Verdict == api.CompileError {
		_, why, _ := strings.Cut(verdictText(res, ""), ": ")
		return why
	}
	return ""
}

// gradeTable is how the table is written.
func (c *cli) gradeTable(words grade.Words) grade.Table {
	return grade.Table{Words: words, Width: terminalWidth(c.stdout), Color: c.colors(c.stdout), Escape: terminal.OneLine}
}

// colors reports whether text on w may have colors: w is a terminal, and its user has not refused them
// (https://no-color.org).
func (c *cli) colors(w any) bool {
	return isTerminal(w) && c.env("NO_COLOR") == "" && c.env("TERM") != "dumb"
}

// terminalWidth is the number of columns of a terminal; zero if w is none.
func terminalWidth(w any) int {
	f, ok := underlying(w).(*os.File)
	if !ok || !isTerminal(w) {
		return 0
	}

	raw, err := f.SyscallConn()
	if err != nil {
		return 0
	}

	width := 0
	_ = raw.Control(func(fd uintptr) { // a terminal that has gone has no width
		if size, err := unix.IoctlGetWinsize(int(fd), unix.TIOCGWINSZ); err == nil {
			width = int(size.Col)
		}
	})

	return width
}
