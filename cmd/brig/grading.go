package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/agent/caller"
	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/terminal"
	"github.com/brig-sandbox/brig/judge/diagnose"
	"github.com/brig-sandbox/brig/judge/grade"
	"github.com/brig-sandbox/brig/judge/problem"
)

// A grading judges submissions on one agent.
type grading struct {
	*executor
	o      *gradeOptions
	loader grade.Loader
	run    api.Run    // what all submissions have in common
	suite  *api.Suite // nil: tests
	cases  []string   // ids of the suite's cases, if a solution of the teacher's has shown them

	submissions []grade.Submission
	names       []string      // languages of the submissions; empty: it cannot be judged
	earlier     *grade.Report // of --json=FILE, with --rerun
	done        func()        // releases the tests that were made for the package
	slow        sync.Once     // the note about a limit of time
}

const gradeOutput = 4 * api.KiB // of each stream of each test, in the report

// newGrading finds the submissions and their languages, and reads what they are judged by.
func (c *cli) newGrading(ctx context.Context, agent *caller.Agent, o *gradeOptions, p *problem.Problem,
	tree *problem.Tree, args []string) (*grading, error) {
	x, err := c.newExecutor(ctx, agent, o.wait, o.noBuild)
	if err != nil {
		return nil, err
	}

	g := &grading{executor: x, o: o, loader: grade.Loader{Problem: p, Tree: tree, Put: x.Put(ctx)}, done: func() {}}
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
	if g.submissions, err = findSubmissions(o.finder(x.Languages, tests), args); err != nil {
		return nil, err
	}
	if err := g.selectRerun(); err != nil {
		return nil, err
	}
	if err := g.prepareSuite(ctx); err != nil {
		return nil, err
	}

	g.names = make([]string, len(g.submissions))
	for i := range g.submissions {
		if s := &g.submissions[i]; s.Err == nil {
			var l api.Language
			if l, s.Err = x.prepare(ctx, o.run.Language,
				source{ext: filepath.Ext(s.Main), interpreter: interpreter(s.Text)}); s.Err == nil {
				g.names[i] = l.Name
			}
		}
	}

	if g.loader.Problem, g.loader.Tree, g.done, err = x.whole(ctx, o.quiet, p, tree); err != nil {
		return nil, err
	}
	if err := errors.Join(g.readProblem(ctx), g.checkEarlier()); err != nil {
		g.done()
		return nil, err
	}
	return g, nil
}

// readProblem fills in what all submissions have in common. What the command line says takes precedence
// over the package.
func (g *grading) readProblem(ctx context.Context) error {
	common, err := g.loader.Common()
	if err != nil {
		return fmt.Errorf("%s: %w", g.loader.Tree.Label(), withSizeRemedy(err))
	}
	if err := g.prepareChecker(ctx, common); err != nil {
		return err
	}
	g.run = g.o.run
	g.run.KeepOutput, g.run.Collect.None = gradeOutput, true
	grade.Apply(&g.run, common, g.loader.Problem.Limits.Time, g.Ceiling)
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

// judgeAll judges the submissions, as many at once as the agent has slots.
func (g *grading) judgeAll(ctx context.Context) grade.Report {
	rows := make([]grade.Row, len(g.submissions))
	shown := g.c.gradeProgress(g.o.quiet, "submission", len(rows), len(rows)*len(g.run.Tests))
	g.Each(len(rows), func(i int) { rows[i] = g.judge(ctx, g.submissions[i], g.names[i], shown) })
	shown.end()
	report := grade.Report{Submissions: rows}
	for _, t := range g.run.Tests {
		report.Tests = append(report.Tests, t.ID)
	}
	if g.suite != nil {
		report.Tests = g.columns(rows)
	}
	return report
}

// judge judges one submission.
func (g *grading) judge(ctx context.Context, s grade.Submission, language string, shown *gradeProgress) grade.Row {
	count := shown.submission(len(g.run.Tests))
	defer count.end()

	row := func(r grade.Row) grade.Row {
		r.Source, r.Language = s.Main, language
		return r
	}
	r, err := g.request(s, language)
	switch {
	case errors.Is(err, grade.ErrNotHandedIn):
		return row(grade.NotJudged(s.Name, grade.Missing, caller.AsError(err)))
	case err != nil:
		return row(grade.NotJudged(s.Name, grade.Refused, caller.AsError(err)))
	}

	res, e := g.Run(ctx, r, func(one api.TestResult) {
		count.test()
		g.noteSlow(s.Name, one)
	})
	switch {
	case e == nil && g.suite != nil:
		one := row(grade.Judged(s.Name, g.readSuite(res)))
		one.Why = tellingLine(g.why(ctx, *one.Result, one.First))
		return one
	case e == nil:
		diagnose.Annotate(language, r.SourceName, r.Source, &res)
		if r.SourceName == "" {
			withSourceName(&res, s.Main)
		}
		one := row(grade.Judged(s.Name, res))
		one.Why = g.why(ctx, res, one.First)
		return one

	case ctx.Err() != nil:
		return row(grade.NotJudged(s.Name, grade.Canceled, e))
	case e.RetrySafe, g.Away(e):
		return row(grade.NotJudged(s.Name, grade.Failed, e))
	}

	return row(grade.NotJudged(s.Name, grade.Refused, e))
}

// noteSlow suggests a limit of time, once, if nobody has set one and a program takes all that is usual in each of many
// tests.
func (g *grading) noteSlow(name string, one api.TestResult) {
	took := time.Duration(one.Result.Timing.Wall)
	late := one.Result.Verdict == api.CPULimit || one.Result.Verdict == api.WallLimit
	all := took * time.Duration(len(g.run.Tests))
	if g.o.quiet || !late || g.run.Limits.CPU > 0 || g.run.Limits.Wall > 0 || all < time.Minute {
		return
	}
	g.slow.Do(func() {
		g.c.note("note: %s used all of %s in test %s, and has %s: with a limit such as --cpu 2s it does not take minutes",
			terminal.OneLine(name), took.Round(time.Second), terminal.OneLine(one.ID), problem.Count(len(g.run.Tests), "test"))
	})
}

// request is the run that judges a submission.
func (g *grading) request(s grade.Submission, language string) (r api.Run, err error) {
	if s.Err != nil {
		return r, s.Err
	}
	if err := g.loader.Allowed(s, language); err != nil {
		return r, err
	}

	r = g.run
	r.Language, r.Source = language, sourceBytes(g.loader.Source(language, s.Text))
	if len(r.Flags) == 0 {
		r.Flags = g.loader.Flags(language)
	}
	if g.suite != nil {
		return g.suiteRequest(r, s)
	}
	if r.Files, err = g.loader.Included(language, s.Files); err != nil {
		return r, err
	}

	r.SourceName = g.sourceName(language, s.Main, len(r.Files), r.Tests)
	return r, nil
}

// why says in one line why the first test that was not accepted failed, or why none ran.
func (g *grading) why(ctx context.Context, res api.Result, first string) string {
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
