package judging

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/judge/grade"
	"github.com/brig-sandbox/brig/judge/grade/verify"
	"github.com/brig-sandbox/brig/judge/problem"
)

// maxOf is the most that the programs of a package and submissions to it get, with the limits that the user asks
// for.
func maxOf(p *problem.Problem, asked api.Limits) api.Limits {
	l := asked.Over(api.Limits{Memory: p.Limits.Memory, Output: p.Limits.Output})
	return grade.WithTime(l, cmp.Or(p.Limits.Time, verify.DefaultLongest), api.Limits{})
}

// SetTimeLimit makes the time limit follow from the jury's submissions, if neither the package nor the
// command line sets one.
func (g *Grading) SetTimeLimit(ctx context.Context) error {
	p := g.Loader.Problem
	if p.Limits.Time > 0 || g.Options.Run.Limits.CPU > 0 || len(p.Jury) == 0 {
		return nil
	}

	results := make([]verify.JuryResult, len(p.Jury))
	verify.Jury(ctx, g.Executor, g.Loader, g.Common,
		verify.Pass{Wanted: verify.BoundsBelow, CPU: verify.Longest(g.Ceiling), Ceiling: g.Ceiling, Repeat: 1,
			Progress: runProgress(g.CLI, g.Options.Quiet, "jury run")}, results)
	for i, one := range results {
		if one.Err != nil {
			return fmt.Errorf("the time limit follows from the jury's submissions, and %s could not be judged: %w; "+
				"to do without: --cpu", p.Jury[i].Path, one.Err)
		}
	}

	limit, err := grade.SetTimeLimit(p.Limits, grade.BoundsOf(p.Jury, verify.Results(results)))
	if err != nil {
		return fmt.Errorf("the package sets no time limit, and none follows from the jury's submissions: %w; to do without: --cpu", err)
	}
	if !g.Options.Quiet {
		g.CLI.Note("time limit %s: the slowest submission of the jury that must not be too slow takes %s (%s)", limit.Limit,
			short(limit.Slowest), limit.By)
	}

	g.Common.Limits = grade.WithTime(g.Common.Limits, limit.Limit, g.Ceiling)
	return nil
}

// short formats a time for people, in milliseconds.
func short(d api.Duration) string {
	rounded := time.Duration(d).Round(time.Millisecond)
	if d > 0 && rounded == 0 { // 0s would say that it was not measured
		return "<1ms"
	}
	return rounded.String()
}
