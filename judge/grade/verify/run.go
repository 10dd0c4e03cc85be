package verify

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/judge/diagnose"
	"github.com/brig-sandbox/brig/judge/grade"
	"github.com/brig-sandbox/brig/judge/problem"
)

// A JuryResult is what came of one jury submission.
type JuryResult struct {
	Result *api.Result  // with the median of the times of all runs; nil: it was not run
	Runs   []api.Result // all
	Skip   string       // why not
	Err    *api.Error   // brig failed, or the checker did
}

// A Pass says which submissions of the jury are run, and how.
type Pass struct {
	Wanted   func(problem.Jury) bool
	CPU      api.Duration // processor time of each test; in all it may take a second longer, if the agent allows that
	Ceiling  api.Limits   // of the agent, as far as it is known
	Repeat   int          // how often each is run
	Progress Progress     // nil: nobody sees it
}

// A Progress begins to show how far so many runs with so many tests together are. begin is called before each
// run, with the number of its tests; the functions that it returns are called after each test and after the
// run, and end after the last one.
type Progress func(runs, tests int) (begin func(tests int) (test, ended func()), end func())

func noProgress(int, int) (func(int) (func(), func()), func()) {
	nothing := func() {}
	return func(int) (func(), func()) { return nothing, nothing }, nothing
}

// wait is how long a program of the jury may wait, in addition to the wall time of its processor time.
const wait = api.Duration(time.Second)

// keptOutput is how much of a program's output is kept, in bytes.
const keptOutput = 4 << 10

// Jury runs submissions of the jury, one after the other so that their times do not disturb each other.
func Jury(ctx context.Context, x Executor, l grade.Loader, common api.Run, pass Pass, out []JuryResult) {
	languages, runs := map[int]api.Language{}, 0
	for i, j := range l.Problem.Jury {
		if pass.Wanted(j) {
			if languages[i], out[i].Skip = juryLanguage(ctx, x, j); out[i].Skip == "" {
				runs += pass.Repeat
			}
		}
	}

	if runs == 0 {
		return
	}
	if pass.Progress == nil {
		pass.Progress = noProgress
	}

	begin, end := pass.Progress(runs, runs*len(common.Tests))
	defer end()

	for i, j := range l.Problem.Jury {
		if _, wanted := languages[i]; !wanted || out[i].Skip != "" {
			continue
		}
		run, err := juryRun(l, common, j, languages[i])
		if err != nil {
			out[i].Skip = err.Error()
			continue
		}
		run.Limits.CPU = pass.CPU
		run.Limits.Wall = api.BusyWall(pass.CPU) + wait
		run.Limits.Wall = min(run.Limits.Wall, max(pass.CPU, cmp.Or(pass.Ceiling.Wall, api.DefaultCeiling().Wall)))
		out[i].run(ctx, x, run, pass.Repeat, begin)
	}
}

// run runs one submission repeatedly.
func (r *JuryResult) run(ctx context.Context, x Executor, run api.Run, repeat int, begin func(int) (func(), func())) {
	for range repeat {
		test, ended := begin(len(run.Tests))
		res, err := x.Execute(ctx, run, test)
		ended()
		if r.Err = err; err != nil {
			return
		}
		if len(r.Runs) > 0 {
			res = outcomesOf(res)
		} else {
			diagnose.Annotate(run.Language, run.SourceName, run.Source, &res)
		}
		r.Runs = append(r.Runs, res)
	}

	res := grade.Median(r.Runs)
	r.Result = &res
}

// outcomesOf is what a repeated run is compared by.
func outcomesOf(res api.Result) api.Result {
	out := api.Result{Verdict: res.Verdict, Tests: make([]api.TestResult, len(res.Tests))}
	for i, t := range res.Tests {
		out.Tests[i] = api.TestResult{ID: t.ID, Answer: t.Answer,
			Result: api.Result{Verdict: t.Result.Verdict, Usage: api.Usage{CPU: t.Result.Usage.CPU}}}
	}
	return out
}

// juryLanguage finds the language of a jury submission, or says why it is not run.
func juryLanguage(ctx context.Context, x Executor, j problem.Jury) (l api.Language, why string) {
	if j.Skip != "" {
		return l, j.Skip
	}
	l, err := x.Language(ctx, j.Language)
	if api.HasCode(err, api.CodeNoLanguage) {
		return l, fmt.Sprintf("the agent has no language %q", j.Language)
	} else if err != nil {
		return l, err.Error()
	}
	return l, ""
}

// juryRun makes the Run of a jury submission.
func juryRun(l grade.Loader, common api.Run, j problem.Jury, language api.Language) (api.Run, error) {
	program, err := l.Run(j.Program)
	if err == nil {
		program.Files, err = l.Included(language.Name, program.Files)
	}
	if err != nil {
		return api.Run{}, err
	}
	r := common
	r.Language, r.Source, r.Files = language.Name, l.Source(language.Name, program.Source), program.Files
	r.SourceName = grade.SourceName(language, program.SourceName, len(program.Files), r.Tests)
	r.Flags, r.KeepOutput, r.Collect.None = program.Flags, keptOutput, true
	return r, nil
}

// BoundsBelow reports whether a jury submission says how much time is needed.
func BoundsBelow(j problem.Jury) bool {
	return slices.ContainsFunc(j.Expect, func(e problem.Expectation) bool { return e.Lower })
}

// Results are the results of jury submissions, in their order.
func Results(all []JuryResult) []*api.Result {
	out := make([]*api.Result, len(all))
	for i, one := range all {
		out[i] = one.Result
	}
	return out
}
