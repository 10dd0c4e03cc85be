package kattis

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/brig-sandbox/brig/judge/problem"
	"github.com/brig-sandbox/brig/judge/problem/yamlfile"
)

const juryRule = "Example submissions"

// words are the verdicts of the format.
var words = []string{"AC", "WA", "TLE", "RTE"}

// defaults are what directories of submissions mean, in 2025-09.
var defaults = map[string]problem.Expectation{
	"accepted":            {Permitted: []string{"AC"}},
	"rejected":            {Required: []string{"RTE", "TLE", "WA"}},
	"wrong_answer":        {Permitted: []string{"AC", "WA"}, Required: []string{"WA"}},
	"time_limit_exceeded": {Permitted: []string{"AC", "TLE"}, Required: []string{"TLE"}},
	"run_time_error":      {Permitted: []string{"AC", "RTE"}, Required: []string{"RTE"}},
	"brute_force":         {Permitted: []string{"AC", "RTE", "TLE"}, Required: []string{"RTE", "TLE"}},
}

// legacyDefaults are what they mean in legacy, where only accepted ones bound the time limit from below.
var legacyDefaults = map[string]problem.Expectation{
	"accepted":            {Permitted: []string{"AC"}, Lower: true},
	"partially_accepted":  {Partial: true},
	"wrong_answer":        {Permitted: []string{"AC", "WA"}, Required: []string{"WA"}},
	"time_limit_exceeded": {Permitted: []string{"AC", "WA", "TLE"}, Required: []string{"TLE"}, Upper: true},
	"run_time_error":      {Required: []string{"RTE"}},
}

// jury finds the submissions of the jury, and what must come of them.
func (r *reader) jury() {
	files, dirs := r.tree.Children("submissions")
	for _, file := range files {
		if file != "submissions/submissions.yaml" && path.Base(file) != "README.md" {
			r.Warn(file, 0, juryRule, "it does not count: submissions belong into a directory such as submissions/accepted/")
		}
	}

	for _, dir := range dirs {
		for _, p := range r.programs(dir, false) {
			j := problem.Jury{Program: p, Path: strings.TrimPrefix(dir, "submissions/") + "/" + p.Name}
			if p.Main == "" && p.Skip == "" {
				if !strings.Contains(p.Files[0], "README") {
					r.Warn(p.Files[0], 0, juryRule, "it is skipped: its name does not say its language")
				}
				continue
			}
			j.Language = p.Language
			r.p.Jury = append(r.p.Jury, j)
		}
	}

	if r.version == current || r.version == draft && r.tree.Has("submissions/submissions.yaml") {
		r.expectations()
	} else {
		r.legacyExpectations()
	}
	if !slices.ContainsFunc(r.p.Jury, func(j problem.Jury) bool { return strings.HasPrefix(j.Path, "accepted/") }) {
		r.Error("submissions/accepted/", 0, juryRule, "there is no accepted submission: at least one is required")
	}
}

var expected = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`@EXPECTED_RESULTS@:\s*([A-Z_, -]+)`)
})

// tags maps the words of @EXPECTED_RESULTS@ of ICPC packages to verdicts.
var tags = map[string]string{
	"CORRECT": "AC", "ACCEPTED": "AC", "WRONG-ANSWER": "WA", "WRONG_ANSWER": "WA", "NO-OUTPUT": "WA", "OUTPUT-LIMIT": "WA",
	"TIMELIMIT": "TLE", "TIME_LIMIT_EXCEEDED": "TLE", "RUN-ERROR": "RTE", "RUN_TIME_ERROR": "RTE", "COMPILER-ERROR": "CE",
}

// legacyExpectations takes what must come of a submission from its directory, or from its text.
func (r *reader) legacyExpectations() {
	for i := range r.p.Jury {
		j := &r.p.Jury[i]
		dir, _, _ := strings.Cut(j.Path, "/")
		text, err := r.tree.Read(j.Main, maxProgram)
		if err != nil {
			r.Error(j.Main, 0, juryRule, "%v", err)
			continue
		}
		if e, ok := legacyDefaults[dir]; ok {
			e.Rule = "submissions/" + dir + "/"
			j.Expect = []problem.Expectation{e}
			continue
		}

		found := expected().FindSubmatch(text)
		if found == nil {
			r.Warn(j.Files[0], 0, juryRule,
				"nothing is expected of it: the directory %s has no meaning, and it has no @EXPECTED_RESULTS@", dir)
			continue
		}

		e := problem.Expectation{Rule: "@EXPECTED_RESULTS@ of " + j.Path}
		for word := range strings.SplitSeq(string(found[1]), ",") {
			verdict := tags[strings.TrimSpace(word)]
			if verdict == "" {
				r.Warn(j.Main, 0, juryRule, "@EXPECTED_RESULTS@ has the unknown word %q", strings.TrimSpace(word))
				continue
			}
			e.Required = append(e.Required, verdict)
		}

		switch {
		case slices.Equal(e.Required, []string{"AC"}):
			e.Permitted, e.Required = []string{"AC"}, nil
		case slices.Contains(e.Required, "AC"):
			e.Required = nil
		}

		j.Expect = []problem.Expectation{e}
	}
}

// expectations takes it from submissions.yaml of 2025-09.
func (r *reader) expectations() {
	m := r.yaml("submissions/submissions.yaml", juryRule)
	type pattern struct {
		glob string
		all  []problem.Expectation
	}

	var patterns []pattern
	standard := defaults
	if r.version == draft {
		standard = legacyDefaults
	}

	// An entry for a directory begins from its default (base below). Where there is no entry, the default
	// itself counts.
	for dir, e := range standard {
		if !m.Has(dir) {
			e.Rule = "submissions/" + dir + "/"
			patterns = append(patterns, pattern{dir, []problem.Expectation{bounded(e, "")}})
		}
	}

	for _, glob := range m.Keys() {
		if _, err := braces(glob); err != nil {
			m.Fail(glob, "pattern %q: %v", glob, err)
			continue
		}

		base := standard[glob] // other patterns have no default
		sub := m.Sub(glob)
		all := r.expectation(sub, glob, base)
		patterns = append(patterns, pattern{glob, all})
		matched := false
		for i := range r.p.Jury {
			j := &r.p.Jury[i]
			if !Match(glob, j.Path) {
				continue
			}

			matched = true
			if language := sub.String("language"); language != "" {
				j.Language = brigName(language)
			}
			if entry := sub.String("entrypoint"); entry != "" {
				for _, file := range j.Files {
					if path.Base(file) == entry {
						j.Main = file
					}
				}
			}
		}

		if !matched && strings.Contains(glob, "/") {
			r.Warn(m.File, m.LineOf(glob), juryRule, "pattern %q matches no submission", glob)
		}
	}

	// The order of a map is random, and the same package must always give the same expectations.
	slices.SortStableFunc(patterns, func(a, b pattern) int { return strings.Compare(a.glob, b.glob) })
	for i := range r.p.Jury {
		j := &r.p.Jury[i]
		for _, p := range patterns {
			if Match(p.glob, j.Path) {
				j.Expect = append(j.Expect, p.all...)
			}
		}
	}
}

var expectationKeys = []string{"language", "entrypoint", "authors", "model_solution", "permitted", "required", "score",
	"message", "use_for_time_limit"}

// expectation reads what a pattern says of submissions: of all tests, and of some.
func (r *reader) expectation(m yamlfile.Map, glob string, base problem.Expectation) []problem.Expectation {
	m.Ignore("authors", "model_solution")
	all := []problem.Expectation{r.requirement(m, "", glob, base)}
	for _, key := range m.Keys() {
		if slices.Contains(expectationKeys, key) {
			continue
		}
		if !m.IsMap(key) {
			r.Error(m.File, m.LineOf(key), juryRule, "unknown key %q of %s", key, glob)
			continue
		}
		if _, err := braces(key); err != nil {
			m.Fail(key, "pattern %q: %v", key, err)
			continue
		}

		some := m.Sub(key)
		matches := func(id string) bool { return Match(key, id) }
		if !slices.ContainsFunc(r.p.Tests, func(t problem.Test) bool { return matches(t.ID) }) {
			r.Error(m.File, m.LineOf(key), juryRule, "%q of %s is neither a key nor a pattern that matches a test", key, glob)
		}

		all = append(all, r.requirement(some, key, glob, problem.Expectation{}))
		r.unknown(some, juryRule, " of "+glob+", "+key)
	}

	return slices.DeleteFunc(all, func(e problem.Expectation) bool {
		return e.Permitted == nil && e.Required == nil && e.Score == nil && e.Message == "" && !e.Lower && !e.Upper
	})
}

// requirement reads one mapping of requirements.
func (r *reader) requirement(m yamlfile.Map, tests, glob string, e problem.Expectation) problem.Expectation {
	e.Tests, e.Rule = tests, m.File+", "+glob
	if tests != "" {
		e.Rule += ", " + tests
	}

	list := func(key string, into *[]string) {
		if !m.Has(key) {
			return
		}
		*into = m.Strings(key)
		for _, word := range *into {
			if !slices.Contains(words, word) {
				m.Fail(key, "%s has %q: use AC, WA, TLE and RTE", key, word)
			}
		}
	}

	list("permitted", &e.Permitted)
	list("required", &e.Required)
	if m.Has("score") {
		if !r.p.Scoring {
			m.Fail("score", "score is only for problems of type scoring")
		}
		switch v := m.Floats("score"); {
		case len(v) == 1:
			e.Score = &[2]float64{v[0], v[0]}
		case len(v) == 2 && v[0] <= v[1]:
			e.Score = &[2]float64{v[0], v[1]}
		default:
			m.Fail("score", "score must be a number, or a list of the least and the most")
		}
	}

	e.Message = m.String("message")
	use := m.String("use_for_time_limit")
	if !slices.Contains([]string{"", "true", "false", "lower", "upper"}, use) {
		m.Fail("use_for_time_limit", "use_for_time_limit %q: write true, false, lower or upper", use)
	}
	return bounded(e, use)
}

// bounded says which way a submission bounds the time limit: from above if it must be too slow, and from
// below if it must not.
func bounded(e problem.Expectation, use string) problem.Expectation {
	switch use {
	case "false":
		e.Lower, e.Upper = false, false
	case "lower":
		e.Lower = true
		if e.Permitted == nil {
			e.Permitted = []string{"AC", "WA", "RTE"}
		}

	case "upper":
		e.Upper = true
		if e.Required == nil {
			e.Required = []string{"TLE"}
		}

	default:
		if e.Lower || e.Upper { // legacy says it
			return e
		}
		e.Upper = slices.Equal(e.Required, []string{"TLE"})
		e.Lower = e.Permitted != nil && !slices.Contains(e.Permitted, "TLE")
	}

	return e
}
