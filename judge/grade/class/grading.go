// Package class judges on an agent what a class handed in.
package class

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/terminal"
	"github.com/brig-sandbox/brig/judge/diagnose"
	"github.com/brig-sandbox/brig/judge/grade"
	"github.com/brig-sandbox/brig/judge/grade/verify"
	"github.com/brig-sandbox/brig/judge/problem"
)

// An Agent executes runs.
type Agent interface {
	// Run executes a run, and calls test, unless it is nil, after each of its tests.
	Run(ctx context.Context, r api.Run, test func(api.TestResult)) (api.Result, *api.Error)
	// Each calls do for 0 to n-1, as many at once as runs are executed.
	Each(n int, do func(i int))
	// Away reports whether an error means that the agent has ended, and may come back.
	Away(e *api.Error) bool
}

// Output is how much of each stream of each test is in the report.
const Output = 4 * api.KiB

// A Grading judges submissions.
type Grading struct {
	Agent   Agent
	Known   []api.Language // of the agent
	Loader  grade.Loader
	Common  api.Run    // what all submissions have in common
	Suite   *api.Suite // nil: tests
	Program string     // name under which the cases of a suite find a program; empty: the usual one
	Cases   []string   // ids of the suite's cases, if a solution of the teacher's has shown them

	Submissions   []grade.Submission
	LanguageNames []string // of the submissions; empty: it cannot be judged

	// Why says in one line why the first test that was not accepted failed, or why none ran.
	Why      func(ctx context.Context, res api.Result, first string) string
	Progress verify.Progress
	Note     func(format string, args ...any) // nil: nothing is said

	slow sync.Once // the note about a limit of time
}

// JudgeAll judges the submissions, as many at once as the agent has slots.
func (g *Grading) JudgeAll(ctx context.Context) grade.Report {
	rows := make([]grade.Row, len(g.Submissions))
	begin, end := g.Progress(len(rows), len(rows)*len(g.Common.Tests))
	g.Agent.Each(len(rows), func(i int) { rows[i] = g.judge(ctx, g.Submissions[i], g.LanguageNames[i], begin) })
	end()
	report := grade.Report{Submissions: rows}
	for _, t := range g.Common.Tests {
		report.Tests = append(report.Tests, t.ID)
	}
	if g.Suite != nil {
		report.Tests = g.Columns(rows)
	}
	return report
}

// judge judges one submission.
func (g *Grading) judge(ctx context.Context, of grade.Submission, language string,
	begin func(tests int) (test, ended func())) grade.Row {
	test, ended := begin(len(g.Common.Tests))
	defer ended()

	row := func(r grade.Row) grade.Row {
		r.Source, r.Language = of.Main, language
		return r
	}
	r, err := g.Request(of, language)
	switch {
	case errors.Is(err, grade.ErrNotHandedIn):
		return row(grade.NotJudged(of.Name, grade.Missing, api.AsError(err)))
	case err != nil:
		return row(grade.NotJudged(of.Name, grade.Refused, api.AsError(err)))
	}

	res, e := g.Agent.Run(ctx, r, func(one api.TestResult) {
		test()
		g.noteSlow(of.Name, one)
	})
	switch {
	case e == nil && g.Suite != nil:
		one := row(grade.Judged(of.Name, g.readSuite(res)))
		one.Why = TellingLine(g.Why(ctx, *one.Result, one.First))
		return one
	case e == nil:
		diagnose.Annotate(language, r.SourceName, r.Source, &res)
		if r.SourceName == "" {
			withSourceName(&res, of.Main)
		}
		one := row(grade.Judged(of.Name, res))
		one.Why = g.Why(ctx, res, one.First)
		return one

	case ctx.Err() != nil:
		return row(grade.NotJudged(of.Name, grade.Canceled, e))
	case e.RetrySafe, g.Agent.Away(e):
		return row(grade.NotJudged(of.Name, grade.Failed, e))
	}

	return row(grade.NotJudged(of.Name, grade.Refused, e))
}

// noteSlow suggests a limit of time, once, if nobody has set one and a program takes all that is usual in each of many
// tests.
func (g *Grading) noteSlow(name string, one api.TestResult) {
	took := time.Duration(one.Result.Timing.Wall)
	late := one.Result.Verdict == api.CPULimit || one.Result.Verdict == api.WallLimit
	all := took * time.Duration(len(g.Common.Tests))
	if g.Note == nil || !late || g.Common.Limits.CPU > 0 || g.Common.Limits.Wall > 0 || all < time.Minute {
		return
	}
	g.slow.Do(func() {
		g.Note("note: %s used all of %s in test %s, and has %s: with a limit such as --cpu 2s it does not take minutes",
			terminal.OneLine(name), took.Round(time.Second), terminal.OneLine(one.ID),
			problem.Count(len(g.Common.Tests), "test"))
	})
}

// Request is the run that judges a submission.
func (g *Grading) Request(of grade.Submission, language string) (r api.Run, err error) {
	if of.Err != nil {
		return r, of.Err
	}
	if err := g.Loader.Allowed(of, language); err != nil {
		return r, err
	}

	r = g.Common
	r.Language = language
	if r.Source = g.Loader.Source(language, of.Text); r.Source == nil {
		r.Source = api.Bytes{} // an empty program, not a missing one
	}
	if len(r.Flags) == 0 {
		r.Flags = g.Loader.Flags(language)
	}
	if g.Suite != nil {
		return g.suiteRequest(r, of)
	}
	if r.Files, err = g.Loader.Included(language, of.Files); err != nil {
		return r, err
	}

	r.SourceName = grade.SourceNameIn(g.Known, language, of.Main, len(r.Files), r.Tests)
	return r, nil
}

// withSourceName puts the name that the user knows into the diagnoses of a program that ran under another.
func withSourceName(res *api.Result, name string) {
	rename := func(d *api.Diagnosis) {
		if d != nil && d.File != "" {
			d.File = name
		}
	}
	rename(res.Diagnosis)
	for i := range res.Tests {
		rename(res.Tests[i].Result.Diagnosis)
	}
}
