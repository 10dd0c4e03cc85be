package grade

import (
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/judge/problem"
)

const ms = api.Duration(time.Millisecond)

// ended is a test that took so much processor time.
func ended(id string, v api.Verdict, a api.Answer, cpu api.Duration) api.TestResult {
	return api.TestResult{ID: id, Answer: a, Result: api.Result{Verdict: v, Usage: api.Usage{CPU: api.Known(int64(cpu), "")}}}
}

func jury(path string, e ...problem.Expectation) problem.Jury {
	for i := range e {
		e[i].Rule = "rule"
	}
	return problem.Jury{Path: path, Expect: e}
}

// What must come of a submission is compared with what came, under a lower limit than it ran with.
func TestUnexpected(t *testing.T) {
	points, maximum := 30.0, 100.0
	res := api.Result{Verdict: api.Signaled, Tests: []api.TestResult{
		ended("sample/1", api.OK, api.Accepted, 10*ms), ended("secret/a/1", api.OK, api.WrongAnswer, 20*ms),
		ended("secret/b/1", api.OK, api.Accepted, 1500*ms), ended("secret/b/2", api.MemoryLimit, "", 10*ms),
	}, Summary: &api.Summary{Points: &points, MaxPoints: &maximum,
		Groups: []api.ScoreGroupResult{{ID: "secret/a", Points: 10, MaxPoints: 40}}}}
	res.Tests[1].Message = "too many guesses"

	for _, tt := range []struct {
		name   string
		expect problem.Expectation
		limit  api.Duration
		want   string // empty: nothing
	}{
		{"permitted", problem.Expectation{Permitted: []string{"AC", "WA", "RTE"}}, 0, ""},
		{"too slow under the limit", problem.Expectation{Permitted: []string{"AC", "WA", "RTE"}}, 1000 * ms,
			"test secret/b/1 is TLE, and only AC, WA, RTE may be (rule)"},
		{"required", problem.Expectation{Required: []string{"RTE"}}, 0, ""},
		{"required and absent", problem.Expectation{Required: []string{"TLE"}}, 0, "no test is TLE, they are AC, WA, RTE (rule)"},
		{"required under the limit", problem.Expectation{Required: []string{"TLE"}}, 1000 * ms, ""},
		{"of some tests", problem.Expectation{Tests: "secret/a", Permitted: []string{"WA"}}, 0, ""},
		{"of some tests, and wrong", problem.Expectation{Tests: "secret/*", Permitted: []string{"AC"}}, 0,
			"test secret/a/1 is WA, and only AC may be (rule)"}, // a pattern also matches a directory of the test
		{"of a group, and wrong", problem.Expectation{Tests: "secret/b", Permitted: []string{"AC"}}, 0,
			"test secret/b/2 is RTE, and only AC may be (rule)"},
		{"message", problem.Expectation{Message: "many"}, 0, ""},
		{"message and absent", problem.Expectation{Message: "few"}, 0, `the message "few" is of no test (rule)`},
		{"score", problem.Expectation{Score: &[2]float64{30, 30}}, 0, ""},
		{"score in a range", problem.Expectation{Score: &[2]float64{31, 40}}, 0, "it has 30 points, not 31 to 40 (rule)"},
		{"score of a group", problem.Expectation{Tests: "secret/a", Score: &[2]float64{11, 11}}, 0, "it has 10 points, not 11 (rule)"},
		{"partial", problem.Expectation{Partial: true}, 0, ""},
	} {
		got := strings.Join(Unexpected(jury("x", tt.expect), res, tt.limit), "; ")
		if got != tt.want {
			t.Errorf("%s: %q; want %q", tt.name, got, tt.want)
		}
	}

	points = 100
	if got := Unexpected(jury("x", problem.Expectation{Partial: true}), res, 0); len(got) != 1 {
		t.Errorf("all points, and partially accepted: %q", got)
	}

	broken := api.Result{Verdict: api.CompileError}
	if got := Unexpected(jury("x", problem.Expectation{Permitted: []string{"AC"}}), broken, 0); len(got) != 1 ||
		got[0] != "it does not compile" {
		t.Errorf("a compile error: %q", got)
	}
	if got := Unexpected(jury("x", problem.Expectation{Required: []string{"CE"}}), broken, 0); len(got) != 0 {
		t.Errorf("an expected compile error: %q", got)
	}
}

// The limit is the least multiple of the resolution with the margins of the format, or that of the package
// is checked.
func TestSetTimeLimit(t *testing.T) {
	timing := problem.Timing{Accepted: 2, TooSlow: 1.5, Resolution: 1000 * ms}
	lower := func(d api.Duration) []Bound {
		return []Bound{{Path: "accepted/fast", Time: 10 * ms}, {Path: "accepted/a", Time: d}}
	}
	upper := func(d api.Duration) []Bound {
		return []Bound{{Path: "tle/t", Time: d}, {Path: "tle/slower", Time: d + 5000*ms, Least: true}}
	}
	for _, tt := range []struct {
		name   string
		set    api.Duration
		b      Bounds
		want   api.Duration
		errHas string
	}{
		{"the resolution at least", 0, Bounds{Lower: lower(20 * ms)}, 1000 * ms, ""},
		{"exactly", 0, Bounds{Lower: lower(500 * ms)}, 1000 * ms, ""},
		{"rounded up", 0, Bounds{Lower: lower(501 * ms)}, 2000 * ms, ""},
		{"with a slow one", 0, Bounds{Lower: lower(700 * ms), Upper: upper(3000 * ms)}, 2000 * ms, ""},
		{"without a margin", 0, Bounds{Lower: lower(700 * ms), Upper: upper(2900 * ms)}, 2000 * ms,
			"tle/t must be too slow, and took 2.9s, less than 1.5 times that"},
		{"set", 3000 * ms, Bounds{Lower: lower(700 * ms), Upper: upper(4500 * ms)}, 3000 * ms, ""},
		{"set too low", 1000 * ms, Bounds{Lower: lower(700 * ms)}, 1000 * ms,
			"the time limit of 1s is less than 2 times the 700ms of accepted/a"},
		{"set without submissions", 1000 * ms, Bounds{}, 1000 * ms, ""},
		{"nothing says it", 0, Bounds{Upper: upper(100 * ms)}, 0, "no submission of the jury says how much time is needed"},
		{"a fast one that was stopped", 0, Bounds{Lower: []Bound{{Path: "accepted/a", Time: 14000 * ms, Least: true}}}, 0,
			"accepted/a must not be too slow, and took more than 14s"},
	} {
		got, err := SetTimeLimit(problem.Limits{Time: tt.set, Timing: timing}, tt.b)
		if got.Limit != tt.want || (err != nil) != (tt.errHas != "") || err != nil && !strings.Contains(err.Error(), tt.errHas) {
			t.Errorf("%s: %s, %v; want %s, %s", tt.name, got.Limit, err, tt.want, tt.errHas)
		}
	}
}

func TestBoundsOfSubmissions(t *testing.T) {
	res := func(tests ...api.TestResult) *api.Result { return &api.Result{Tests: tests} }
	b := BoundsOf([]problem.Jury{
		jury("accepted/a", problem.Expectation{Lower: true}),
		jury("mixed/b", problem.Expectation{Tests: "secret/easy", Lower: true}, problem.Expectation{Tests: "secret/hard", Upper: true}),
		jury("accepted/not-run", problem.Expectation{Lower: true}), jury("rejected/c", problem.Expectation{}),
	}, []*api.Result{
		res(ended("secret/easy/1", api.OK, "", 10*ms), ended("secret/hard/1", api.OK, "", 30*ms)),
		res(ended("secret/easy/1", api.OK, "", 20*ms), ended("secret/hard/1", api.CPULimit, "", 900*ms)),
		nil, res(ended("secret/easy/1", api.OK, "", 5000*ms)),
	})
	if len(b.Lower) != 2 || b.Lower[0] != (Bound{"accepted/a", 30 * ms, false}) || b.Lower[1] != (Bound{"mixed/b", 20 * ms, false}) {
		t.Errorf("from below: %+v", b.Lower)
	}
	if len(b.Upper) != 1 || b.Upper[0] != (Bound{"mixed/b", 900 * ms, true}) {
		t.Errorf("from above: %+v", b.Upper)
	}
}
