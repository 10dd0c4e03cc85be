package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/grade"
	"github.com/brig-sandbox/brig/problem"
)

// jury runs the submissions of the jury, sets or checks the time limit, and compares what came of them
// with what must.
func (v *verifier) jury(ctx context.Context) error {
	p := v.loader.Problem
	if p.Limits.Timing == (problem.Timing{}) {
		v.notRun("the time limit: the format %s has no rule for it", p.Format)
		return nil
	}
	results := make([]juryResult, len(p.Jury))
	longest := api.Duration(v.o.longest)
	// First those that say how much time is needed; then the limit is known, and the others run only as long
	// as it takes to see that they are slow enough.
	first := longest
	if p.Limits.Time > 0 {
		first = slowEnough(p.Limits, p.Limits.Time, longest)
	}
	pass := juryPass{boundsBelow, first, v.o.repeat, v.o.quiet}
	if p.Limits.Time == 0 { // a limit follows from their times
		pass.repeat = max(pass.repeat, grade.NoiseRuns)
	}
	v.runJury(ctx, v.loader, v.common, pass, results)
	limit, err := grade.SetTimeLimit(p.Limits, grade.BoundsOf(p.Jury, resultsOf(results)))
	rest := longest
	if err == nil {
		rest = slowEnough(p.Limits, limit.Limit, longest)
	}
	v.runJury(ctx, v.loader, v.common, juryPass{func(j problem.Jury) bool { return !boundsBelow(j) }, rest, v.o.repeat, v.o.quiet}, results)
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if limit, err = grade.SetTimeLimit(p.Limits, grade.BoundsOf(p.Jury, resultsOf(results))); err != nil {
		v.mistake("time limit: %v", err)
	}
	if limit.Limit > 0 {
		v.v.TimeLimit = &limit
	}
	for i, j := range p.Jury {
		if p.Limits.Time == 0 && boundsBelow(j) && results[i].result != nil {
			if err := grade.Noise(j.Path, results[i].runs, limit.Limit, p.Limits.Timing); err != nil {
				v.mistake("time limit: %v", err)
			}
		}
		one, err := v.juryMember(ctx, j, results[i], limit.Limit)
		if err != nil {
			return err
		}
		v.v.Submissions = append(v.v.Submissions, one)
	}
	return nil
}

// slowEnough is the processor time after which a submission is certainly too slow for a limit.
func slowEnough(l problem.Limits, limit, longest api.Duration) api.Duration {
	return min(longest, api.Duration(1.1*float64(limit)*max(l.Timing.TooSlow, 1)))
}

// juryMember compares what came of one submission with what must.
func (v *verifier) juryMember(ctx context.Context, j problem.Jury, r juryResult, limit api.Duration) (verifiedJury, error) {
	one := verifiedJury{Path: j.Path, Language: j.Language, Expected: expectText(j)}
	switch {
	case r.err != nil && api.HasCode(r.err, api.CodeCheckFailed):
		one.Got, one.Unexpected = "check-failed", []string{r.err.Message}
		v.mistake("%s: %s", j.Path, r.err.Message)
		return one, nil
	case r.err != nil:
		return one, fmt.Errorf("%s: %w", j.Path, r.err)
	case r.result == nil:
		one.Got = "not run"
		v.notRun("%s: %s", j.Path, r.skip)
		return one, nil
	}
	res := *r.result
	if v.loader.Problem.Scoring && tooSlow(res, limit) { // its points depend on which tests are too slow
		run, why := v.juryRun(ctx, v.loader, v.common, j)
		if why != "" {
			return one, errors.New(why)
		}
		run.Limits = grade.WithTime(run.Limits, limit)
		again, err := v.execute(ctx, run, nil)
		if err != nil {
			return one, fmt.Errorf("%s: %w", j.Path, err)
		}
		res = again
	}
	one.Tests = map[string]string{}
	count, order := map[string]int{}, []string{}
	for _, t := range res.Tests {
		word := grade.FormatWord(t, limit)
		one.Tests[t.ID] = word
		if count[word]++; count[word] == 1 {
			order = append(order, word)
		}
	}
	for _, word := range order {
		one.Got += fmt.Sprintf("%d %s ", count[word], word)
	}
	if one.Got = strings.TrimSpace(one.Got); one.Got == "" {
		one.Got = "CE"
	}
	one.Slowest, _ = grade.Slowest(*r.result, "")
	if res.Summary != nil && v.loader.Problem.Scoring {
		one.Points = res.Summary.Points
	}
	one.Unexpected = append(grade.Unexpected(j, res, limit), grade.Unstable(r.runs, limit)...)
	for _, text := range one.Unexpected {
		v.mistake("submissions/%s: %s", j.Path, text)
	}
	return one, nil
}

// tooSlow reports whether a test took more processor time than the limit.
func tooSlow(res api.Result, limit api.Duration) bool {
	for _, t := range res.Tests {
		if cpu := t.Result.Usage.CPU.Value; limit > 0 && cpu != nil && *cpu > int64(limit) {
			return true
		}
	}
	return false
}
