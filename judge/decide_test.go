package judge_test

import (
	"fmt"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/judge"
)

// A group may be within one that comes after another group that this requires.
func TestGroupWithinOneThatRequiresALaterGroup(t *testing.T) {
	r := api.Run{
		Tests: []api.Test{{ID: "r"}, {ID: "a"}},
		Groups: []api.ScoreGroup{
			{ID: "in", Tests: []string{"a"}, Points: 5}, {ID: "needed", Tests: []string{"r"}, Points: 1},
			{ID: "out", Groups: []string{"in"}, Requires: []string{"needed"}},
		},
	}

	for word, want := range map[string]string{"ok": "r a", "wa": "r"} {
		s, counted := graded(r, map[string]string{"r": word, "a": "ok"})
		if counted != want || s.Groups[0].Skipped != (word == "wa") || s.Groups[2].Skipped != (word == "wa") {
			t.Errorf("%s: %q count; %+v", word, counted, s.Groups)
		}
	}
}

// deep makes the run with the most tests, and 1000 groups: each within the next one, or each requiring the
// eight before it.
func deep(requires bool) api.Run {
	r := api.Run{}
	for i := range api.MaxTests {
		r.Tests = append(r.Tests, api.Test{ID: fmt.Sprint(i%1000, "/", i)})
	}

	var before []string
	for n := range 1000 {
		g := api.ScoreGroup{ID: fmt.Sprint(n), Stop: true}
		switch {
		case requires:
			g.Requires = before[max(n-8, 0):n:n]
		case n == 0:
			for _, t := range r.Tests {
				g.Tests = append(g.Tests, t.ID)
			}
		default:
			g.Groups = before[n-1 : n]
		}

		if requires {
			g.Tests = []string{fmt.Sprint(n, "/")}
		}

		before, r.Groups = append(before, g.ID), append(r.Groups, g)
	}

	return r
}

// The agent decides after each test: thousands of tests and groups must not take its processors.
func BenchmarkDecide(b *testing.B) {
	for name, r := range map[string]api.Run{"nested": deep(false), "requiring": deep(true)} {
		g, results := judge.NewGrader(r), make([]*api.TestResult, len(r.Tests))
		for i, t := range r.Tests {
			results[i] = resultOf(t.ID, "ok")
		}

		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				g.Decide(results)
			}
		})

		b.Run(name+"/grade", func(b *testing.B) {
			for b.Loop() {
				var s api.Summary
				g.Grade(&s, results)
			}
		})
	}
}
