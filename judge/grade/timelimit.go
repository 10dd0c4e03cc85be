package grade

import (
	"fmt"
	"math"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/judge/problem"
)

// A Bound is what one jury submission says about the time limit.
type Bound struct {
	Path  string       // of the submission
	Time  api.Duration // processor time of its slowest test
	Least bool         // Time is at least this: a limit ended the test
}

// Bounds are the submissions that must not be too slow, and those that must be.
type Bounds struct{ Lower, Upper []Bound }

// SetTimeLimit returns the least multiple of the resolution that leaves the margins of the format, or
// checks the limit that the package sets. The error says which submission contradicts it.
func SetTimeLimit(p problem.Limits, b Bounds) (api.TimeLimit, error) {
	t := api.TimeLimit{Limit: p.Time}
	for _, one := range b.Lower {
		if one.Time >= t.Slowest || t.By == "" {
			t.Slowest, t.By = one.Time, one.Path
		}
		if one.Least {
			return t, fmt.Errorf("%s must not be too slow, and took more than %s: set --longest above what it needs", one.Path,
				one.Time)
		}
	}

	for _, one := range b.Upper {
		if t.Fastest == 0 || one.Time < t.Fastest {
			t.Fastest, t.FastestBy = one.Time, one.Path
		}
	}

	if len(b.Lower) == 0 {
		if t.Limit == 0 {
			return t, fmt.Errorf("no submission of the jury says how much time is needed, and the package sets no time limit")
		}
		return t, nil
	}

	minimum := api.Duration(float64(t.Slowest) * p.Timing.Accepted)
	if t.Limit == 0 {
		step := p.Timing.Resolution
		t.Limit = max(1, api.Duration(math.Ceil(float64(minimum)/float64(step)))) * step
	}
	if t.Limit < minimum {
		return t, fmt.Errorf("the time limit of %s is less than %v times the %s of %s", t.Limit,
			p.Timing.Accepted, t.Slowest, t.By)
	}
	if t.Fastest > 0 && float64(t.Limit)*p.Timing.TooSlow > float64(t.Fastest) {
		return t, fmt.Errorf("the time limit of %s leaves no margin: %s must be too slow, and took %s, less than %v "+
			"times that (the slowest that must not be is %s with %s)", t.Limit, t.FastestBy, t.Fastest, p.Timing.TooSlow, t.By, t.Slowest)
	}
	return t, nil
}
