package dmoj

import (
	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/judge/problem/yamlfile"
)

const (
	casesRule     = "test_cases"
	batchedRule   = "Batched cases"
	generatorRule = "Generators"
)

// An entry is a case, or a batch of cases.
type entry struct {
	line         int
	points       float64
	batched      bool
	cases        []testCase
	dependencies []int64 // numbers of batches, from 1
}

// A testCase names two files of the tree; empty: there is none.
type testCase struct {
	in, out string
	text    bool // its line ends are made those of Unix
}

// A scope is a case with what it is in, the innermost first: a key that a case does not have is that of its
// batch, or of the file.
type scope []yamlfile.Map

// with returns the mapping that has a key; ok is false if none has it.
func (s scope) with(key string) (m yamlfile.Map, ok bool) {
	for _, in := range s {
		if in.Has(key) {
			in.Ignore(key)
			return in, true
		}
	}
	return s[0], false
}

// cases reads pretest_test_cases, which have no points, and test_cases.
func (r *reader) cases() []entry {
	var all []entry
	if list, ok := r.top.Maps("pretest_test_cases"); ok {
		all = r.entries(list)
		for i := range all {
			all[i].points = 0
		}
	} else if r.top.Has("pretest_test_cases") {
		r.top.Fail("pretest_test_cases", "pretest_test_cases must be a list of cases")
	}

	if list, ok := r.top.Maps("test_cases"); ok {
		all = append(all, r.entries(list)...)
	} else {
		all = append(all, r.matched()...)
	}

	r.top.Ignore("points", "binary_data", "in", "out", "pretest_test_cases", "test_cases", "generator",
		"generator_args", "generator_in")
	total := 0
	for _, e := range all {
		total += len(e.cases)
	}

	if total == 0 && !r.Failed() {
		r.Error(file, r.top.LineOf("test_cases"), casesRule, "there is no test case")
	}
	return all
}

// entries reads a list of cases and batches. An alias can make a short file endless: no more are read than a
// problem may have.
func (r *reader) entries(list []yamlfile.Map) []entry {
	var all []entry
	total := 0
	for _, m := range list {
		e := entry{line: m.Line, points: r.pointsOf(scope{m, r.top})}
		if m.Has("batched") {
			r.batch(&e, m)
		} else {
			e.cases = []testCase{r.testCase(scope{m, r.top})}
			r.unknown(m)
		}
		if total += len(e.cases); total > api.MaxTests {
			r.Error(file, m.Line, casesRule, "there are more than %d test cases", api.MaxTests)
			return nil
		}
		all = append(all, e)
	}

	return all
}

// batch reads a batch.
func (r *reader) batch(e *entry, m yamlfile.Map) {
	e.batched = true
	cases, ok := m.Maps("batched")
	if !ok || len(cases) == 0 {
		m.Fail("batched", "batched must be a list of cases, with at least one")
	}
	if len(cases) > api.MaxTests {
		cases = cases[:api.MaxTests+1] // entries refuses it
	}

	for _, c := range cases {
		if c.Has("batched") {
			r.Error(file, c.Line, batchedRule, "a batch cannot be in a batch")
			return
		}
		if c.Has("points") {
			r.Warn(file, c.LineOf("points"), batchedRule, "points of a case in a batch are ignored: the batch has points")
		}
		c.Ignore("points")
		e.cases = append(e.cases, r.testCase(scope{c, m, r.top}))
		r.unknown(c)
	}

	for _, v := range m.Floats("dependencies") {
		if v != float64(int64(v)) || v < 1 {
			m.Fail("dependencies", "dependencies must be numbers of earlier batches, from 1")
			return
		}
		e.dependencies = append(e.dependencies, int64(v))
	}

	r.unknown(m)
}

// pointsOf are the points of a case or a batch.
func (r *reader) pointsOf(s scope) float64 {
	m, ok := s.with("points")
	if !ok {
		return 1
	}
	v, ok := m.Float("points")
	if ok && (v < 0 || v > 1e6) {
		m.Fail("points", "points is %v: must be between 0 and 1000000", v)
	}
	return v
}

// testCase reads a case.
func (r *reader) testCase(s scope) testCase {
	c := testCase{text: true}
	if m, ok := s.with("binary_data"); ok {
		c.text = !flag(m, "binary_data", false)
	}

	for _, side := range []struct {
		key  string
		name *string
	}{{"in", &c.in}, {"out", &c.out}} {
		if m, ok := s.with(side.key); ok {
			*side.name = r.find(m, side.key, m.String(side.key))
		}
	}

	inner := s[:len(s)-1] // without the file
	for _, m := range inner {
		if m.Has("checker") {
			m.Fail("checker", "brig supports one checker for all test cases: move it to the beginning of the file")
		}
		if m.Has("symlinks") {
			m.Fail("symlinks", "brig does not support symlinks in the directory of a submission")
		}
		if m.Has("output_limit_length") {
			r.Warn(file, m.LineOf("output_limit_length"), casesRule, "output_limit_length of a case is ignored")
		}
		m.Ignore("checker", "symlinks", "output_limit_length", "output_prefix_length", "wall_time_factor", "generator",
			"generator_args", "generator_in", "in", "out", "binary_data")
	}

	switch m, generated := s.with("generator"); {
	case generated && (c.in == "" || c.out == ""):
		r.Error(file, m.LineOf("generator"), generatorRule,
			"brig does not run generators: generate the test cases first, and name their files with in and out")
	case c.out == "" && r.p.Compare != nil && !r.Failed():
		r.Warn(file, inner[0].Line, casesRule, "the case has no out: its expected output is empty")
	}

	return c
}
