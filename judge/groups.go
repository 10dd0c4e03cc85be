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
	stop     bool // no test counts after one that was not accepted
	groups   []api.ScoreGroup
	of       []int   // the group of each test; -1: none
	within   []int   // the group of each group, which comes after it; -1: none
	groupsIn [][]int // the groups of each group
	requires [][]int // the groups that each group requires
	tests    [][]int // the tests of each group
}

// NewGrader makes the grader of a run that is valid.
func NewGrader(r api.Run) *Grader {
	n := len(r.Groups)
	g := &Grader{stop: r.StopAtFailure, groups: r.Groups, groupsIn: make([][]int, n), requires: make([][]int, n),
		tests: make([][]int, n)}
	for range r.Groups {
		g.within = append(g.within, -1)
	}

	for range r.Tests {
		g.of = append(g.of, -1)
	}

	index := map[string]int{}
	for n, group := range r.Groups {
		index[group.ID] = n
		for _, id := range group.Groups {
			g.within[index[id]] = n
			g.groupsIn[n] = append(g.groupsIn[n], index[id])
		}

		for _, id := range group.Requires {
			g.requires[n] = append(g.requires[n], index[id])
		}

		for i, t := range r.Tests {
			if g.of[i] < 0 && len(group.Tests) > 0 && group.Has(t.ID) {
				g.of[i], g.tests[n] = n, append(g.tests[n], i)
			}
		}
	}

	return g
}

// A tally is what the tests up to one of them say of a group.
type tally struct {
	accepted, failed, open int // of its own tests

	anyFailed, anyOpen bool // of its tests and those of the groups within

	entered  bool // a test of it or of a group within was seen, and what it requires was looked at
	blocked  bool // no further test of it or of a group within counts
	waiting  bool // whether one counts is not known yet
	verdict  bool // whether it is accepted
	known    bool // whether that is known
	computed bool // whether verdict and known are set
}

// Decide returns the standing of each test. results has nil for a test that has not ended. What a group
// requires is final when its first test comes, and what blocks a group stays: so each group is looked at
// once, not once for each test, because a caller may send thousands of both (BenchmarkDecide).
func (g *Grader) Decide(results []*api.TestResult) []Standing {
	standing := make([]Standing, len(results))
	groups := make([]tally, len(g.groups))
	failed, open := false, false // of the tests so far
	for i, res := range results {
		n := g.of[i]
		g.enter(groups, n)
		switch {
		case g.stop && failed, n >= 0 && groups[n].blocked:
			standing[i] = Skipped
		case g.stop && open, n >= 0 && groups[n].waiting:
			standing[i] = Undecided
		default:
			standing[i] = Counted
		}

		switch {
		case standing[i] == Undecided || standing[i] == Counted && res == nil:
			open = true
			g.addOpen(groups, n)
		case standing[i] == Counted && res.Accepted():
			if n >= 0 {
				groups[n].accepted++
			}
		default:
			failed = failed || standing[i] == Counted
			g.addFailed(groups, n)
		}
	}

	return standing
}

// enter looks at what a group and those around it require, before the first test in them.
func (g *Grader) enter(groups []tally, n int) {
	for ; n >= 0 && !groups[n].entered; n = g.within[n] {
		groups[n].entered = true
		for _, other := range g.requires[n] {
			switch accepted, known := g.accepted(groups, other); {
			case !known:
				g.wait(groups, n)
			case !accepted:
				g.block(groups, n)
			}
		}
	}
}

func (g *Grader) addFailed(groups []tally, n int) {
	if n >= 0 {
		groups[n].failed++
	}
	for ; n >= 0 && !groups[n].anyFailed; n = g.within[n] {
		groups[n].anyFailed = true
		if g.groups[n].Stop {
			g.block(groups, n)
		}
	}
}

func (g *Grader) addOpen(groups []tally, n int) {
	if n >= 0 {
		groups[n].open++
	}
	for ; n >= 0 && !groups[n].anyOpen; n = g.within[n] {
		groups[n].anyOpen = true
		if g.groups[n].Stop {
			g.wait(groups, n)
		}
	}
}

// block is for a group of which no further test counts, and for those within.
func (g *Grader) block(groups []tally, n int) {
	if groups[n].blocked {
		return
	}
	groups[n].blocked = true
	for _, in := range g.groupsIn[n] {
		g.block(groups, in)
	}
}

// wait is for a group of which it is not known yet whether further tests count, and for those within.
func (g *Grader) wait(groups []tally, n int) {
	if groups[n].waiting {
		return
	}
	groups[n].waiting = true
	for _, in := range g.groupsIn[n] {
		g.wait(groups, in)
	}
}

// accepted reports whether a group is accepted, and whether that is known. All of its tests must have been
// added.
func (g *Grader) accepted(groups []tally, n int) (accepted, known bool) {
	t := &groups[n]
	if t.computed {
		return t.verdict, t.known
	}

	ok, failed, open := t.accepted, t.failed, t.open
	for _, in := range g.groupsIn[n] {
		switch a, k := g.accepted(groups, in); {
		case !k:
			open++
		case a:
			ok++
		default:
			failed++
		}
	}

	switch g.groups[n].Passes {
	case api.PassAlways:
		t.verdict, t.known = true, true
	case api.PassAny:
		t.verdict, t.known = ok > 0, ok > 0 || open == 0
	default:
		t.verdict, t.known = failed == 0 && open == 0, failed > 0 || open == 0
	}

	t.computed = true
	return t.verdict, t.known
}

// Grade adds to a summary what the groups score. results has nil for a test that did not run or does not
// count.
func (g *Grader) Grade(s *api.Summary, results []*api.TestResult) {
	if len(g.groups) == 0 {
		s.Score = meanScore(results)
		return
	}

	groups := make([]tally, len(g.groups))
	for i, res := range results {
		switch n := g.of[i]; {
		case n < 0:
		case res != nil && res.Accepted():
			groups[n].accepted++
		default:
			groups[n].failed++
		}
	}

	skipped := make([]bool, len(g.groups))
	for n := len(g.groups) - 1; n >= 0; n-- { // a group comes after those within
		skipped[n] = g.within[n] >= 0 && skipped[g.within[n]] || slices.ContainsFunc(g.requires[n], func(other int) bool {
			accepted, _ := g.accepted(groups, other)
			return !accepted
		})
	}

	var points, maximum float64
	for n, group := range g.groups {
		res := api.ScoreGroupResult{ID: group.ID, Skipped: skipped[n]}
		accepted, _ := g.accepted(groups, n)
		res.Accepted = accepted && !skipped[n]
		res.Points, res.MaxPoints = g.points(n, res.Accepted, s.Groups, results)
		s.Groups = append(s.Groups, res)
		if g.within[n] < 0 {
			points, maximum = points+res.Points, maximum+res.MaxPoints
		}
	}

	s.Points, s.MaxPoints = &points, &maximum
	if maximum > 0 {
		score := points / maximum
		s.Score = &score
	}
}

// points are the points of a group, and the most that it can have. before are the results of the groups
// before it.
func (g *Grader) points(n int, accepted bool, before []api.ScoreGroupResult,
	results []*api.TestResult) (points, maximum float64) {
	group := g.groups[n]
	var got, best, shares []float64 // of each test and group in it
	for _, i := range g.tests[n] {
		unit := g.unit(n)
		value, share := testPoints(group, unit, results[i])
		got, best, shares = append(got, value), append(best, unit), append(shares, share)
	}

	for _, in := range g.groupsIn[n] {
		b := before[in]
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

// unit is the points of one accepted test in a group.
func (g *Grader) unit(n int) float64 {
	switch group := g.groups[n]; {
	case group.Each != 0:
		return group.Each
	case group.How == "" || group.How == api.AggregateSum:
		return group.Points / float64(len(g.tests[n]))
	default:
		return group.Points
	}
}

// CheckPoints compares the points that a checker or an interactor gave a test with the maximum that the
// test has in its group. The maximum means accepted, and zero a wrong answer. More than the maximum is an
// error: the score would be above 1 (GRD-12). Points may differ from the maximum by rounding.
func (g *Grader) CheckPoints(i int, res *api.TestResult) error {
	n := g.of[i]
	if n < 0 || res.Points == nil {
		return nil
	}

	unit := g.unit(n)
	rounding := min(0.01, unit/1000)
	switch points := *res.Points; {
	case points > unit+rounding:
		part, field := "checker", "check.points"
		if res.Checker == nil && res.Interactor != nil {
			part, field = "interactor", "interactor.points"
		}
		return api.Refuse(api.CodeCheckFailed,
			"test %q: the %s gave %v points, and the test has %v in the group %q: correct the points of the group, "+
				"or the meaning of the %[2]s's points (%[6]s)", res.ID, part, points, unit, g.groups[n].ID, field)
	case res.Answer != api.Partial:
	case points >= unit-rounding:
		res.Answer, res.Points = api.Accepted, &unit
	case points <= 0:
		res.Answer = api.WrongAnswer
	}

	return nil
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
