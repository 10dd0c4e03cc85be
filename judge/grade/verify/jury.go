package verify

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/judge/grade"
	"github.com/brig-sandbox/brig/judge/problem"
)

// jury runs the submissions of the jury, sets or checks the time limit, and compares what came of them
// with what must.
func (v *verifier) jury(ctx context.Context) error {
	p := v.loader.Problem
	if p.Limits.Timing == (problem.Timing{}) {
		v.notRun("the time limit: the format %s has no rule for it", p.Format)
		return nil
	}

	results := make([]JuryResult, len(p.Jury))
	longest := api.Duration(v.o.Longest)

	// First those that say how much time is needed; then the limit is known, and the others run only as long
	// as it takes to see that they are slow enough.
	first := longest
	if p.Limits.Time > 0 {
		first = slowEnough(p.Limits, p.Limits.Time, longest)
	}

	pass := Pass{BoundsBelow, first, v.o.Ceiling, v.o.Repeat, v.o.Progress}
	if p.Limits.Time == 0 { // a limit follows from their times
		pass.Repeat = max(pass.Repeat, grade.NoiseRuns)
	}

	Jury(ctx, v.x, v.loader, v.common, pass, results)
	limit, err := grade.SetTimeLimit(p.Limits, grade.BoundsOf(p.Jury, Results(results)))
	rest := longest
	if err == nil {
		rest = slowEnough(p.Limits, limit.Limit, longest)
	}

	Jury(ctx, v.x, v.loader, v.common,
		Pass{func(j problem.Jury) bool { return !BoundsBelow(j) }, rest, v.o.Ceiling, v.o.Repeat, v.o.Progress}, results)
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if limit, err = grade.SetTimeLimit(p.Limits, grade.BoundsOf(p.Jury, Results(results))); err != nil {
		v.mistake("time limit: %v", err)
	}
	if limit.Limit > 0 {
		v.TimeLimit = &limit
	}

	for i, j := range p.Jury {
		if p.Limits.Time == 0 && BoundsBelow(j) && results[i].Result != nil {
			if err := grade.Noise(j.Path, results[i].Runs, limit.Limit, p.Limits.Timing); err != nil {
				v.mistake("time limit: %v", err)
			}
		}
		one, err := v.juryMember(ctx, j, results[i], limit.Limit)
		if err != nil {
			return err
		}
		v.Submissions = append(v.Submissions, one)
	}

	return nil
}

// slowEnough is the processor time after which a submission is certainly too slow for a limit.
func slowEnough(l problem.Limits, limit, longest api.Duration) api.Duration {
	return min(longest, api.Duration(1.1*float64(limit)*max(l.Timing.TooSlow, 1)))
}

// juryMember compares what came of one submission with what must.
func (v *verifier) juryMember(ctx context.Context, j problem.Jury, r JuryResult,
	limit api.Duration) (api.VerifiedSubmission, error) {
	one := api.VerifiedSubmission{Path: j.Path, Language: j.Language, Expected: grade.ExpectText(j)}
	switch {
	case r.Err != nil && api.HasCode(r.Err, api.CodeCheckFailed):
		one.Got, one.Unexpected = "check-failed", []string{r.Err.Message}
		v.mistake("%s: %s", j.Path, r.Err.Message)
		return one, nil
	case r.Err != nil:
		return one, fmt.Errorf("%s: %w", j.Path, r.Err)
	case r.Result == nil:
		one.Got = "not run"
		v.notRun("%s: %s", j.Path, r.Skip)
		return one, nil
	}

	res := *r.Result
	if v.loader.Problem.Scoring && tooSlow(res, limit) { // its points depend on which tests are too slow
		language, why := juryLanguage(ctx, v.x, j)
		if why != "" {
			return one, errors.New(why)
		}

		run, err := juryRun(v.loader, v.common, j, language)
		if err != nil {
			return one, err
		}

		run.Limits = grade.WithTime(run.Limits, limit, v.o.Ceiling)
		again, failed := v.x.Execute(ctx, run, nil)
		if failed != nil {
			return one, fmt.Errorf("%s: %w", j.Path, failed)
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

	one.Slowest, _ = grade.Slowest(*r.Result, "")
	if res.Summary != nil && v.loader.Problem.Scoring {
		one.Points = res.Summary.Points
	}

	one.Unexpected = append(grade.Unexpected(j, res, limit), grade.Unstable(r.Runs, limit)...)
	for _, text := range one.Unexpected {
		where := j.Path // in Kattis's format it is below submissions/, and others name the file
		if strings.HasPrefix(v.Format, "kattis") {
			where = "submissions/" + where
		}
		v.mistake("%s: %s", where, text)
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
