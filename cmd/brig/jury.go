package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/diagnose"
	"github.com/brig-sandbox/brig/grade"
	"github.com/brig-sandbox/brig/problem"
)

// defaultLongest is the processor time of a test of a jury submission while the time limit is not known:
// about half of what an agent allows whose operator has set no other ceiling, because a program may also
// wait.
const defaultLongest = 14 * time.Second

// A juryResult is what came of one jury submission.
type juryResult struct {
	result *api.Result  // with the median of the times of all runs; nil: it was not run
	runs   []api.Result // all
	skip   string       // why not
	err    *api.Error   // brig failed, or the checker did
}

// A juryPass says which submissions of the jury are run, and how.
type juryPass struct {
	wanted func(problem.Jury) bool
	cpu    api.Duration // processor time of each test; in all it may take a second longer
	repeat int          // how often each is run
	quiet  bool         // without progress
}

// runJury runs submissions of the jury, one after the other so that their times do not disturb each other.
func (x *executor) runJury(ctx context.Context, l grade.Loader, common api.Run, pass juryPass, out []juryResult) {
	runs := map[int]api.Run{}
	for i, j := range l.Problem.Jury {
		if !pass.wanted(j) {
			continue
		}
		run, why := x.juryRun(ctx, l, common, j)
		if out[i].skip = why; why == "" {
			run.Limits.CPU, run.Limits.Wall = pass.cpu, pass.cpu+api.Duration(time.Second)
			runs[i] = run
		}
	}
	if len(runs) == 0 {
		return
	}
	shown := x.c.gradeProgress(pass.quiet, "runs of jury submissions", len(runs)*pass.repeat, len(runs)*len(common.Tests)*pass.repeat)
	defer shown.end()
	for i := range out {
		run, ok := runs[i]
		if !ok {
			continue
		}
		for range pass.repeat {
			count := shown.submission(len(run.Tests))
			res, err := x.execute(ctx, run, count.test)
			count.end()
			if out[i].err = err; err != nil {
				break
			}
			if len(out[i].runs) > 0 {
				res = outcomesOf(res)
			} else {
				diagnose.Annotate(run.Language, run.SourceName, run.Source, &res)
			}
			out[i].runs = append(out[i].runs, res)
		}
		if out[i].err == nil {
			res := grade.Median(out[i].runs)
			out[i].result = &res
		}
	}
}

// outcomesOf is what a repeated run is compared by.
func outcomesOf(res api.Result) api.Result {
	out := api.Result{Verdict: res.Verdict, Tests: make([]api.TestResult, len(res.Tests))}
	for i, t := range res.Tests {
		out.Tests[i] = api.TestResult{ID: t.ID, Answer: t.Answer, Result: api.Result{Verdict: t.Result.Verdict, Usage: api.Usage{CPU: t.Result.Usage.CPU}}}
	}
	return out
}

// juryRun makes the Run of a jury submission, or says why there is none.
func (x *executor) juryRun(ctx context.Context, l grade.Loader, common api.Run, j problem.Jury) (r api.Run, why string) {
	if j.Skip != "" {
		return r, j.Skip
	}
	language, err := x.prepare(ctx, j.Language, source{})
	if api.HasCode(err, api.CodeNoLanguage) {
		return r, fmt.Sprintf("the agent has no language %q", j.Language)
	} else if err != nil {
		return r, err.Error()
	}
	if !language.Stored && x.noBuild {
		return r, fmt.Sprintf("image %s of %s is not stored", language.Image, language.Name)
	}
	program, err := l.Run(j.Program)
	if err == nil {
		program.Files, err = l.Included(language.Name, program.Files)
	}
	if err != nil {
		return r, err.Error()
	}
	r = common
	r.Language, r.Source, r.Files = language.Name, l.Source(language.Name, program.Source), program.Files
	r.SourceName = x.sourceName(language.Name, program.SourceName, len(program.Files))
	r.Flags, r.KeepOutput, r.Collect.None = program.Flags, gradeOutput, true
	return r, ""
}

// boundsBelow reports whether a jury submission says how much time is needed.
func boundsBelow(j problem.Jury) bool {
	return slices.ContainsFunc(j.Expect, func(e problem.Expectation) bool { return e.Lower })
}

// resultsOf are the results of jury submissions, in their order.
func resultsOf(all []juryResult) []*api.Result {
	out := make([]*api.Result, len(all))
	for i, one := range all {
		out[i] = one.result
	}
	return out
}

// setTimeLimit makes the time limit follow from the jury's submissions, if neither the package nor the
// command line sets one.
func (g *grading) setTimeLimit(ctx context.Context) error {
	p := g.loader.Problem
	if p.Limits.Time > 0 || g.o.run.Limits.CPU > 0 || len(p.Jury) == 0 {
		return nil
	}
	results := make([]juryResult, len(p.Jury))
	g.runJury(ctx, g.loader, g.run, juryPass{boundsBelow, api.Duration(defaultLongest), 1, g.o.quiet}, results)
	for i, one := range results {
		if one.err != nil {
			return fmt.Errorf("the time limit follows from the jury's submissions, and %s could not be judged: %w; to do without: --cpu", p.Jury[i].Path, one.err)
		}
	}
	limit, err := grade.SetTimeLimit(p.Limits, grade.BoundsOf(p.Jury, resultsOf(results)))
	if err != nil {
		return fmt.Errorf("the package sets no time limit, and none follows from the jury's submissions: %w; to do without: --cpu", err)
	}
	if !g.o.quiet {
		g.c.note("time limit %s: the slowest submission of the jury that must not be too slow takes %s (%s)", limit.Limit, short(limit.Slowest), limit.By)
	}
	g.run.Limits = grade.WithTime(g.run.Limits, limit.Limit)
	return nil
}

// short formats a time for people.
func short(d api.Duration) string { return time.Duration(d).Round(time.Millisecond).String() }
