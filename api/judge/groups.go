package judge

import (
	"slices"

	"github.com/brig-sandbox/brig/api"
)

// A Standing says whether the result of a test counts.
type Standing int

// The standings.
const (
	Undecided Standing = iota // an earlier test that has not ended yet decides that
	Counted
	Skipped
)

// A Grader decides which tests of a run count and what its groups score. It decides by the order of the
// request alone: whether tests run one after the other or side by side makes no difference.
type Grader struct {
	stop   bool // no test counts after one that was not accepted
	rules  bool // some tests may not count
	groups []api.ScoreGroup
	of     []int   // the group of each test; -1: none
	within []int   // the group of each group; -1: none
	tests  [][]int // the tests of each group
	index  map[string]int
}

// NewGrader makes the grader of a run that is valid.
func NewGrader(r api.Run) *Grader {
	g := &Grader{stop: r.StopAtFailure, rules: r.StopAtFailure, groups: r.Groups, index: map[string]int{}, tests: make([][]int, len(r.Groups))}
	for range r.Groups {
		g.within = append(g.within, -1)
	}
	for range r.Tests {
		g.of = append(g.of, -1)
	}
	for n, group := range r.Groups {
		g.index[group.ID] = n
		g.rules = g.rules || group.Stop || len(group.Requires) > 0
		for _, id := range group.Groups {
			g.within[g.index[id]] = n
		}
		for i, t := range r.Tests {
			if len(group.Tests) > 0 && group.Has(t.ID) {
				g.of[i], g.tests[n] = n, append(g.tests[n], i)
			}
		}
	}
	return g
}

// A count is what is known of the tests of a group and of its groups, up to some test.
type count struct{ accepted, failed, open int }

// Decide returns the standing of each test. results has nil for a test that has not ended.
func (g *Grader) Decide(results []*api.TestResult) []Standing {
	standing := make([]Standing, len(results))
	if !g.rules {
		for i := range standing {
			standing[i] = Counted
		}
		return standing
	}
	direct, all := make([]count, len(g.groups)), make([]count, len(g.groups)) // all: with the groups within
	var whole count
	for i, res := range results {
		standing[i] = g.standing(i, whole, direct, all)
		add := func(c *count) {
			switch {
			case standing[i] == Undecided || standing[i] == Counted && res == nil:
				c.open++
			case standing[i] == Counted && res.Accepted():
				c.accepted++
			default:
				c.failed++
			}
		}
		if standing[i] != Skipped {
			add(&whole)
		}
		if n := g.of[i]; n >= 0 {
			add(&direct[n])
			for ; n >= 0; n = g.within[n] {
				add(&all[n])
			}
		}
	}
	return standing
}

// standing decides on one test by what is known of the tests before it.
func (g *Grader) standing(i int, whole count, direct, all []count) Standing {
	open := false
	if g.stop {
		if whole.failed > 0 {
			return Skipped
		}
		open = whole.open > 0
	}
	for n := g.of[i]; n >= 0; n = g.within[n] {
		if g.groups[n].Stop {
			if all[n].failed > 0 {
				return Skipped
			}
			open = open || all[n].open > 0
		}
		for _, id := range g.groups[n].Requires {
			accepted, known := g.accepted(g.index[id], direct)
			if known && !accepted {
				return Skipped
			}
			open = open || !known
		}
	}
	if open {
		return Undecided
	}
	return Counted
}

// accepted reports whether a group is accepted, and whether that is known.
func (g *Grader) accepted(n int, direct []count) (accepted, known bool) {
	group, c := g.groups[n], direct[n]
	for _, id := range group.Groups {
		switch a, k := g.accepted(g.index[id], direct); {
		case !k:
			c.open++
		case a:
			c.accepted++
		default:
			c.failed++
		}
	}
	switch group.Passes {
	case api.PassAlways:
		return true, true
	case api.PassAny:
		return c.accepted > 0, c.accepted > 0 || c.open == 0
	}
	return c.failed == 0 && c.open == 0, c.failed > 0 || c.open == 0
}

// Grade adds to a summary what the groups score. results has nil for a test that did not run or does not
// count.
func (g *Grader) Grade(s *api.Summary, results []*api.TestResult) {
	if len(g.groups) == 0 {
		s.Score = meanScore(results)
		return
	}
	direct := make([]count, len(g.groups))
	for i, res := range results {
		if n := g.of[i]; n >= 0 {
			switch {
			case res != nil && res.Accepted():
				direct[n].accepted++
			default:
				direct[n].failed++
			}
		}
	}
	var points, most float64
	for n, group := range g.groups {
		res := api.ScoreGroupResult{ID: group.ID}
		res.Accepted, _ = g.accepted(n, direct)
		for m := n; m >= 0 && !res.Skipped; m = g.within[m] {
			res.Skipped = slices.ContainsFunc(g.groups[m].Requires, func(id string) bool { return !s.Groups[g.index[id]].Accepted })
		}
		if res.Skipped {
			res.Accepted = false
		}
		res.Points, res.MaxPoints = g.points(n, res.Accepted, s.Groups, results)
		s.Groups = append(s.Groups, res)
		if g.within[n] < 0 {
			points, most = points+res.Points, most+res.MaxPoints
		}
	}
	s.Points, s.MaxPoints = &points, &most
	if most > 0 {
		score := points / most
		s.Score = &score
	}
}

// points are the points of a group, and the most that it can have. before are the results of the groups
// before it.
func (g *Grader) points(n int, accepted bool, before []api.ScoreGroupResult, results []*api.TestResult) (points, most float64) {
	group := g.groups[n]
	var got, best, shares []float64 // of each test and group in it
	for _, i := range g.tests[n] {
		unit := group.Each
		if unit == 0 {
			unit = group.Points
			if group.How == "" || group.How == api.AggregateSum {
				unit /= float64(len(g.tests[n]))
			}
		}
		value, share := testPoints(group, unit, results[i])
		got, best, shares = append(got, value), append(best, unit), append(shares, share)
	}
	for _, id := range group.Groups {
		b := before[g.index[id]]
		share := 0.0
		switch {
		case b.MaxPoints > 0:
			share = b.Points / b.MaxPoints
		case b.Accepted:
			share = 1
		}
		got, best, shares = append(got, b.Points), append(best, b.MaxPoints), append(shares, share)
	}
	switch group.How {
	case api.AggregatePassFail:
		if accepted {
			return group.Points, group.Points
		}
		return 0, group.Points
	case api.AggregateProduct:
		points = group.Points
		for _, share := range shares {
			points *= share
		}
		return points, group.Points
	}
	return aggregate(group.How, got), aggregate(group.How, best)
}

func aggregate(how api.Aggregation, values []float64) (all float64) {
	if len(values) == 0 {
		return 0
	}
	switch how {
	case api.AggregateMin:
		return slices.Min(values)
	case api.AggregateMax:
		return slices.Max(values)
	}
	for _, v := range values {
		all += v
	}
	if how == api.AggregateAverage {
		all /= float64(len(values))
	}
	return all
}

// testPoints are the points of a test and the share of them, where unit is for an accepted one.
func testPoints(group api.ScoreGroup, unit float64, res *api.TestResult) (points, share float64) {
	switch {
	case res == nil:
		return 0, 0
	case res.Points != nil:
		if unit > 0 {
			share = *res.Points / unit
		}
		return *res.Points, share
	case res.Score != nil:
		return *res.Score * unit, *res.Score
	case res.Accepted():
		return unit, 1
	}
	return group.Reject, 0
}

// meanScore is the mean of the scores of tests, if a checker gave one of them a score.
func meanScore(results []*api.TestResult) *float64 {
	sum, given := 0.0, false
	for _, res := range results {
		switch {
		case res == nil:
		case res.Score != nil:
			sum, given = sum+*res.Score, true
		case res.Accepted():
			sum++
		}
	}
	if !given {
		return nil
	}
	sum /= float64(len(results))
	return &sum
}
