package grade

import (
	"fmt"
	"slices"
	"strings"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/judge/problem"
	"github.com/brig-sandbox/brig/judge/problem/kattis"
)

// FormatWord is the outcome of a test in the words of package formats, AC, WA, TLE and RTE, under a limit on
// processor time that is lower than the one it ran with; zero: that one.
func FormatWord(t api.TestResult, limit api.Duration) string {
	if cpu := t.Result.Usage.CPU.Value; limit > 0 && cpu != nil && *cpu > int64(limit) {
		return "TLE"
	}

	switch t.Result.Verdict {
	case api.OK:
		if t.Answer == api.WrongAnswer {
			return "WA"
		}
		return "AC"
	case api.CPULimit, api.WallLimit:
		return "TLE"
	case api.OutputLimit:
		return "WA"
	case api.CompileError:
		return "CE"
	}

	return "RTE"
}

// Slowest is the processor time of the slowest test that a pattern matches. atLeast reports that a limit
// ended it.
func Slowest(res api.Result, tests string) (t api.Duration, atLeast bool) {
	for _, one := range res.Tests {
		cpu := one.Result.Usage.CPU.Value
		if cpu == nil || tests != "" && !kattis.Match(tests, one.ID) {
			continue
		}
		ended := one.Result.Verdict == api.CPULimit || one.Result.Verdict == api.WallLimit
		time := api.Duration(*cpu)
		if one.Result.Verdict == api.WallLimit {
			time = max(time, api.Duration(one.Result.Timing.Wall))
		}
		if time > t {
			t, atLeast = time, ended
		}
	}

	return t, atLeast
}

// BoundsOf are what the jury submissions say about the time limit; results are in their order, nil for
// one that was not run.
func BoundsOf(jury []problem.Jury, results []*api.Result) Bounds {
	var b Bounds
	for i, j := range jury {
		if results[i] == nil {
			continue
		}

		for _, e := range j.Expect {
			if !e.Lower && !e.Upper {
				continue
			}
			one := Bound{Path: j.Path}
			one.Time, one.Least = Slowest(*results[i], e.Tests)
			if e.Lower {
				b.Lower = append(b.Lower, one)
			}
			if e.Upper {
				b.Upper = append(b.Upper, one)
			}
		}
	}

	return b
}

// Unexpected says how the result of a jury submission differs from what must come of it, under a limit
// on processor time. It is empty if nothing does.
func Unexpected(j problem.Jury, res api.Result, limit api.Duration) []string {
	if res.Verdict == api.CompileError {
		for _, e := range j.Expect {
			if slices.Contains(e.Required, "CE") {
				return nil
			}
		}
		return []string{"it does not compile"}
	}

	var all []string
	for _, e := range j.Expect {
		all = append(all, unexpected(e, res, limit)...)
	}
	return all
}

func unexpected(e problem.Expectation, res api.Result, limit api.Duration) []string {
	var all []string
	say := func(format string, args ...any) {
		all = append(all, fmt.Sprintf(format, args...)+" ("+e.Rule+")")
	}
	required, message := len(e.Required) == 0, e.Message == ""
	var seen []string
	for _, t := range res.Tests {
		if e.Tests != "" && !kattis.Match(e.Tests, t.ID) {
			continue
		}
		word := FormatWord(t, limit)
		if !slices.Contains(seen, word) {
			seen = append(seen, word)
		}
		if len(e.Permitted) > 0 && !slices.Contains(e.Permitted, word) && len(all) == 0 {
			say("test %s is %s, and only %s may be", t.ID, word, strings.Join(e.Permitted, ", "))
		}
		required = required || slices.Contains(e.Required, word)
		message = message || strings.Contains(t.Message, e.Message)
	}

	if !required {
		say("no test is %s, they are %s", strings.Join(e.Required, " or "), strings.Join(seen, ", "))
	}
	if !message {
		say("the message %q is of no test", e.Message)
	}

	points, maximum := score(e, res)
	switch {
	case e.Score != nil && (points < e.Score[0] || points > e.Score[1]):
		say("it has %s points, not %s", formatNumber(points), ScoreText(*e.Score))
	case e.Partial && points >= maximum && maximum > 0:
		say("it has all %s points, and must not have", formatNumber(maximum))
	}

	return all
}

// ScoreText is a range of points for people.
func ScoreText(s [2]float64) string {
	if s[0] == s[1] {
		return formatNumber(s[0])
	}
	return formatNumber(s[0]) + " to " + formatNumber(s[1])
}

// score is the points of what an expectation is about: a group, or everything.
func score(e problem.Expectation, res api.Result) (points, maximum float64) {
	s := res.Summary
	if s == nil {
		return 0, 0
	}

	for _, g := range s.Groups {
		if g.ID == e.Tests {
			return g.Points, g.MaxPoints
		}
	}

	if s.Points != nil && s.MaxPoints != nil {
		return *s.Points, *s.MaxPoints
	}
	return 0, 0
}

// ExpectText says what must come of a jury submission.
func ExpectText(j problem.Jury) string {
	if j.Skip != "" {
		return "skipped: " + j.Skip
	}

	var all []string
	for _, e := range j.Expect {
		var parts []string
		switch {
		case slices.Equal(e.Permitted, []string{"AC"}):
			parts = append(parts, "accepted")
		case len(e.Permitted) > 0:
			parts = append(parts, "only "+strings.Join(e.Permitted, " "))
		}

		if len(e.Required) > 0 {
			parts = append(parts, "at least one "+strings.Join(e.Required, " or "))
		}
		if e.Score != nil {
			parts = append(parts, ScoreText(*e.Score)+" points")
		}
		if e.Partial {
			parts = append(parts, "less than all points")
		}
		if e.Message != "" {
			parts = append(parts, fmt.Sprintf("message %q", e.Message))
		}

		text := strings.Join(parts, ", ")
		if e.Tests != "" {
			text = e.Tests + ": " + text
		}

		all = append(all, text)
	}

	if len(all) == 0 {
		return "nothing is expected"
	}
	return strings.Join(all, "; ")
}
