package polygon

import (
	"math"
	"slices"
	"strconv"

	"github.com/brig-sandbox/brig/judge/problem"
)

// maxPoints is the most points of a test or a group.
const maxPoints = 1e6

// groups reads how the tests score: by their groups, or each by its points.
func (r *reader) groups(set testset, members map[string][]int) {
	total := 0.0
	count := func(what, name string, points float64) {
		if points < 0 || points > maxPoints || math.IsNaN(points) {
			r.Error(file, 0, "testset", "%s %s has %v points: must be between 0 and %.0f", what, name, points, maxPoints)
		}
		total += points
	}

	for i, t := range set.Tests {
		count("test", strconv.Itoa(i+1), t.Points)
	}

	for _, g := range set.Groups {
		count("group", strconv.Quote(g.Name), g.Points)
	}

	if total == 0 || len(r.p.Tests) != set.Count {
		return
	}

	r.p.Scoring = true
	known := map[string]bool{}
	for _, g := range set.Groups {
		known[g.Name] = true
		one := problem.Group{ID: "group " + g.Name, How: "sum"}
		for _, d := range g.Depends {
			one.Requires = append(one.Requires, "group "+d.Group)
		}

		for _, i := range members[g.Name] {
			one.Points += set.Tests[i].Points
		}

		if g.Policy == "complete-group" {
			one.How = "pass-fail"
			if one.Points == 0 {
				one.Points = g.Points
			}
		}

		r.group(set, one, members[g.Name])
	}

	var others []int // tests in no group
	for name, in := range members {
		if !known[name] {
			others = append(others, in...)
		}
	}

	// The order of a map is random, and the same package must always give the same group.
	slices.Sort(others)
	if len(others) > 0 {
		r.group(set, problem.Group{ID: "tests", How: "sum"}, others)
	}
}

// group adds a group of tests. Where they have different points and count one by one, each is a group in
// it.
func (r *reader) group(set testset, g problem.Group, members []int) {
	same := true
	sum := 0.0
	for _, i := range members {
		same = same && set.Tests[i].Points == set.Tests[members[0]].Points
		sum += set.Tests[i].Points
	}

	if g.How == "sum" {
		g.Points = sum
	}

	for _, i := range members {
		id := r.p.Tests[i].ID
		if g.How != "sum" || same {
			g.Tests = append(g.Tests, id)
			continue
		}
		one := problem.Group{ID: g.ID + ", test " + id, Tests: []string{id}, How: "sum",
			Points: set.Tests[i].Points, Requires: g.Requires}
		r.p.Groups = append(r.p.Groups, one)
		g.Groups = append(g.Groups, one.ID)
	}

	r.p.Groups = append(r.p.Groups, g)
}
