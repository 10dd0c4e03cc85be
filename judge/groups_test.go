package judge_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/judge"
)

// resultOf makes the result of a test from one word: ok, wa, an integer of percent, pN for N points, re.
func resultOf(id, word string) *api.TestResult {
	res := &api.TestResult{ID: id, Answer: api.Accepted, Result: api.Result{Verdict: api.OK}}
	var n float64
	switch {
	case word == "ok":
	case word == "wa":
		res.Answer = api.WrongAnswer
	case word == "re":
		res.Answer, res.Result.Verdict = "", api.Nonzero
	case word[0] == 'p':
		_, _ = fmt.Sscan(word[1:], &n)
		res.Points = &n
	default:
		_, _ = fmt.Sscan(word, &n)
		n /= 100
		res.Answer, res.Score = api.Partial, &n
	}

	return res
}

// graded runs the tests of r one after the other as the agent does, with the words as their results, and
// returns the summary and which tests count.
func graded(r api.Run, words map[string]string) (api.Summary, string) {
	g := judge.NewGrader(r)
	results := make([]*api.TestResult, len(r.Tests))
	for i, t := range r.Tests {
		if g.Decide(results)[i] != judge.Skipped {
			results[i] = resultOf(t.ID, words[t.ID])
		}
	}
	return finished(g, r, results)
}

func finished(g *judge.Grader, r api.Run, results []*api.TestResult) (api.Summary, string) {
	counted := ""
	for i, s := range g.Decide(results) {
		if s == judge.Skipped {
			results[i] = nil
		} else {
			counted += r.Tests[i].ID + " "
		}
	}
	var s api.Summary
	g.Grade(&s, results)
	return s, strings.TrimSpace(counted)
}

func TestGroups(t *testing.T) {
	tests := func(ids string) (all []api.Test) {
		for _, id := range strings.Fields(ids) {
			all = append(all, api.Test{ID: id})
		}
		return all
	}

	two := func(change func(a, b *api.ScoreGroup)) []api.ScoreGroup {
		a, b := api.ScoreGroup{ID: "a", Tests: []string{"a/"}, Points: 40}, api.ScoreGroup{ID: "b", Tests: []string{"b/"}, Points: 60}
		change(&a, &b)
		return []api.ScoreGroup{a, b}
	}

	const ids = "a/1 a/2 b/1 b/2 b/3"
	for _, tt := range []struct {
		name    string
		run     api.Run
		results string // in the order of the tests
		counted string
		want    string // accepted or not and points of each group, then points of most, then the score
	}{
		{"each test its part", api.Run{Groups: two(func(a, b *api.ScoreGroup) {})}, "ok wa ok ok wa", ids, "-a20 -b40 60/100 0.6"},
		{"min", api.Run{Groups: two(func(a, b *api.ScoreGroup) { a.How, b.How = "min", "min" })}, "ok ok ok 50 ok", ids, "+a40 -b30 70/100 0.7"},
		{"product", api.Run{Groups: two(func(a, b *api.ScoreGroup) { a.How, b.How = "product", "product" })}, "50 50 ok ok wa", ids,
			"-a10 -b0 10/100 0.1"},
		{"max and avg", api.Run{Groups: two(func(a, b *api.ScoreGroup) { a.How, b.How = "max", "avg" })}, "wa ok ok ok wa", ids,
			"-a40 -b40 80/100 0.8"},
		{"pass-fail", api.Run{Groups: two(func(a, b *api.ScoreGroup) { a.How, b.How = "pass-fail", "pass-fail" })}, "ok ok ok re ok", ids,
			"+a40 -b0 40/100 0.4"},
		{"points of the checker", api.Run{Groups: two(func(a, b *api.ScoreGroup) {})}, "p5 p7.5 ok ok ok", ids, "+a12.5 +b60 72.5/100 0.725"},
		{"points of each", api.Run{Groups: two(func(a, b *api.ScoreGroup) { a.Points, a.Each, a.Reject = 0, 3, 1 })}, "ok wa ok ok ok", ids,
			"-a4 +b60 64/66 0.96969"},
		{"stop", api.Run{Groups: two(func(a, b *api.ScoreGroup) { a.Stop, b.Stop = true, true })}, "wa ok ok wa ok", "a/1 b/1 b/2",
			"-a0 -b20 20/100 0.2"},
		{"required", api.Run{Groups: two(func(a, b *api.ScoreGroup) { b.Requires = []string{"a"} })}, "wa ok ok ok ok", "a/1 a/2",
			"-a20 !b0 20/100 0.2"},
		{"required and there", api.Run{Groups: two(func(a, b *api.ScoreGroup) { b.Requires = []string{"a"} })}, "ok ok ok wa ok", ids,
			"+a40 -b40 80/100 0.8"},
		{"required, any", api.Run{Groups: two(func(a, b *api.ScoreGroup) { a.Passes, b.Requires = "any", []string{"a"} })}, "wa ok ok ok ok", ids,
			"+a20 +b60 80/100 0.8"},
		{"required, always", api.Run{Groups: two(func(a, b *api.ScoreGroup) { a.Passes, b.Requires = "always", []string{"a"} })},
			"wa wa ok ok ok", ids, "+a0 +b60 60/100 0.6"},
		{"stop at failure", api.Run{StopAtFailure: true, Groups: two(func(a, b *api.ScoreGroup) {})}, "ok ok wa ok ok", "a/1 a/2 b/1",
			"+a40 -b0 40/100 0.4"},
		{"groups in a group", api.Run{Groups: append(two(func(a, b *api.ScoreGroup) {}),
			api.ScoreGroup{ID: "all", Groups: []string{"a", "b"}, How: "min"})},
			"ok ok ok ok wa", ids, "+a40 -b40 -all40 40/40 1"},
		{"a group of groups stops",
			api.Run{Groups: append(two(func(a, b *api.ScoreGroup) {}), api.ScoreGroup{ID: "all", Groups: []string{"a", "b"}, Stop: true})},
			"ok wa ok ok ok", "a/1 a/2", "-a20 -b0 -all20 20/100 0.2"},
		{"tests outside of groups", api.Run{Groups: []api.ScoreGroup{{ID: "b", Tests: []string{"b/1", "b/2", "b/3"}, Points: 3}}},
			"wa wa ok ok ok", ids, "+b3 3/3 1"},
		{"a sample without points", api.Run{Groups: two(func(a, b *api.ScoreGroup) { a.Points, b.Requires = 0, []string{"a"} })},
			"ok ok ok ok ok", ids, "+a0 +b60 60/60 1"},
		{"no groups, no scores", api.Run{}, "ok ok wa ok ok", ids, ""},
		{"no groups, a score", api.Run{}, "ok 50 wa re ok", ids, "0.5"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := tt.run
			r.Image, r.Argv, r.Tests = "tiny", []string{"x"}, tests(ids)
			if err := r.Validate(); err != nil {
				t.Fatal(err)
			}

			words := map[string]string{}
			for i, w := range strings.Fields(tt.results) {
				words[r.Tests[i].ID] = w
			}

			s, counted := graded(r, words)
			got := ""
			for _, g := range s.Groups {
				sign := map[bool]string{true: "+", false: "-"}[g.Accepted]
				if g.Skipped {
					sign = "!"
				}
				got += fmt.Sprintf("%s%s%v ", sign, g.ID, g.Points)
			}

			if s.Points != nil {
				got += fmt.Sprintf("%v/%v ", *s.Points, *s.MaxPoints)
			}
			if s.Score != nil {
				got += fmt.Sprintf("%.7v", *s.Score)
			}
			if !strings.HasPrefix(strings.TrimSpace(got), tt.want) || tt.want == "" && got != "" || counted != tt.counted {
				t.Errorf("%s with tests %s\nwant %s with tests %s", got, counted, tt.want, tt.counted)
			}

			// In whatever order tests end, the answer is the same, and what was decided stays.
			for seed := range uint64(50) {
				rng := rand.New(rand.NewPCG(seed, 1))
				g := judge.NewGrader(r)
				results := make([]*api.TestResult, len(r.Tests))
				before := g.Decide(results)
				for _, i := range rng.Perm(len(results)) {
					if before[i] != judge.Skipped || rng.IntN(2) == 0 {
						results[i] = resultOf(r.Tests[i].ID, words[r.Tests[i].ID])
					}
					now := g.Decide(results)
					for k := range now {
						if before[k] != judge.Undecided && before[k] != now[k] {
							t.Fatalf("test %d had standing %d and has %d", k, before[k], now[k])
						}
					}
					before = now
				}

				if again, c := finished(g, r, results); !reflect.DeepEqual(again, s) || c != counted {
					t.Fatalf("in another order: %+v with %s; want %+v with %s", again, c, s, counted)
				}
			}
		})
	}
}

// GRD-12: a checker cannot give a test more points than its maximum, and the maximum is accepted.
func TestPointsAboveThoseOfATest(t *testing.T) {
	r := api.Run{Tests: []api.Test{{ID: "1"}, {ID: "2"}, {ID: "3"}, {ID: "free"}},
		Groups: []api.ScoreGroup{{ID: "all", Tests: []string{"1", "2", "3"}, Points: 100}}}
	g := judge.NewGrader(r)
	for _, tt := range []struct {
		test   int
		points float64
		want   string
	}{
		{0, 34, `test "1": the checker gave 34 points, and the test has 33.333333333333336 in the group "all"`},
		{0, 33.34, "accepted 33.333333333333336"}, {0, 33.33, "accepted 33.333333333333336"},
		{1, 33, "partial 33"}, {2, 0, "wrong-answer 0"}, {3, 1000, "partial 1000"},
	} {
		res := &api.TestResult{ID: r.Tests[tt.test].ID, Answer: api.Partial, Points: &tt.points}
		err := g.CheckPoints(tt.test, res)
		got := fmt.Sprint(res.Answer, " ", *res.Points)
		if err != nil {
			got = err.Error()
		}
		if !strings.HasPrefix(got, tt.want) || (err != nil) != strings.HasPrefix(tt.want, "test") ||
			err != nil && !api.HasCode(err, api.CodeCheckFailed) {
			t.Errorf("%v points: %s; want %s", tt.points, got, tt.want)
		}
	}

	points, outcome := 40.0, &api.ProgramOutcome{}
	for want, res := range map[string]api.TestResult{
		"the interactor gave 40 points":                         {Interactor: outcome},
		"the interactor's points (interactor.points)":           {Interactor: outcome},
		"the checker gave 40 points":                            {Interactor: outcome, Checker: outcome},
		"or the meaning of the checker's points (check.points)": {Checker: outcome},
	} {
		res.Answer, res.Points = api.Partial, &points
		if err := g.CheckPoints(0, &res); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %s", err, want)
		}
	}
}
