package dmoj

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/judge/problem/yamlfile"
)

const (
	patternRule = "Specifying cases with regexes"

	// The patterns that count if the file has none.
	defaultInput  = `^(?=.*?\.in|in).*?(?:(?:^|\W)(?P<batch>\d+)[^\d\s]+)?(?P<case>\d+)[^\d\s]*$`
	defaultOutput = `^(?=.*?\.out|out).*?(?:(?:^|\W)(?P<batch>\d+)[^\d\s]+)?(?P<case>\d+)[^\d\s]*$`

	maxInstructions = 500     // of a compiled pattern
	maxNames        = 1 << 20 // bytes of all names that are matched
)

// A pattern is a regular expression of Python that may begin with a lookahead.
type pattern struct{ ahead, rest *regexp.Regexp }

// compile reads a pattern. Go's expressions match in linear time, and so have neither lookaround nor
// references back: a lookahead at the beginning is an expression of its own.
func compile(text string) (p pattern, err error) {
	rest := text
	if inner, ok := strings.CutPrefix(strings.TrimPrefix(text, "^"), "(?="); ok {
		end := closing(inner)
		if end < 0 {
			return p, fmt.Errorf("a parenthesis does not end")
		}
		if p.ahead, err = expression(inner[:end]); err != nil {
			return p, err
		}
		rest = inner[end+1:]
	}

	p.rest, err = expression(rest)
	return p, err
}

// expression compiles one that must match at the beginning of a name, whatever the case of its letters.
func expression(text string) (*regexp.Regexp, error) {
	text = "(?i)^(?:" + text + ")"
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, fmt.Errorf("%w: brig knows lookahead at the beginning alone, and no references back", err)
	}
	if prog, err := syntax.Compile(parsed.Simplify()); err != nil || len(prog.Inst) > maxInstructions {
		return nil, fmt.Errorf("it is too large")
	}
	return regexp.Compile(text)
}

// closing is the place of the parenthesis that closes one before text; negative: there is none.
func closing(text string) int {
	depth, class := 1, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\':
			i++
		case class:
			class = c != ']'
		case c == '[':
			class = true
		case c == '(':
			depth++
		case c == ')':
			if depth--; depth == 0 {
				return i
			}
		}
	}

	return -1
}

// A key is the number or the name of a batch or a case. Names come before numbers.
type key struct {
	name   string
	number int64
	isInt  bool
}

func (k key) compare(other key) int {
	switch {
	case k.isInt != other.isInt && k.isInt:
		return 1
	case k.isInt != other.isInt:
		return -1
	}
	return cmp.Or(cmp.Compare(k.number, other.number), cmp.Compare(k.name, other.name))
}

// groupKey is what a group of a pattern matched; ok is false if it matched nothing, or does not exist.
func groupKey(p *regexp.Regexp, group, name string, at []int) (k key, ok bool) {
	i := p.SubexpIndex(group)
	if i < 0 || at[2*i] < 0 {
		return key{}, false
	}
	text := name[at[2*i]:at[2*i+1]]
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return key{number: n, isInt: true}, true
	}
	return key{name: text}, true
}

// matched finds the test cases among the files of the archive, by two patterns.
func (r *reader) matched() []entry {
	m := r.top.Sub("test_cases")
	if r.top.Has("test_cases") && !r.top.IsMap("test_cases") {
		r.top.Fail("test_cases", "test_cases must be a list of cases, or input_format and output_format")
		return nil
	}
	if r.archive == "" {
		r.Error(file, r.top.LineOf("test_cases"), patternRule,
			"test_cases must be a list of cases, because there is no archive whose files could be matched")
		return nil
	}

	points := m.Floats("case_points")
	standard := r.pointsOf(scope{r.top})
	text := !flag(r.top, "binary_data", false)
	found := matches{cases: map[key]map[key]*testCase{}, batched: map[key]bool{}}
	for _, side := range []struct {
		key, standard string
		of            func(*testCase) *string
	}{
		{"input_format", defaultInput, func(c *testCase) *string { return &c.in }},
		{"output_format", defaultOutput, func(c *testCase) *string { return &c.out }},
	} {
		p, err := compile(cmp.Or(m.String(side.key), side.standard))
		if err != nil {
			m.Fail(side.key, "%s: %v", side.key, err)
			return nil
		}
		if !r.match(p, side.key, m, found, side.of) {
			return nil
		}
	}

	r.unknown(m)
	var all []entry
	for i, batch := range slices.SortedFunc(maps.Keys(found.cases), key.compare) {
		e := entry{line: m.Line, points: standard, batched: found.batched[batch]}
		switch {
		case points == nil:
		case i >= len(points):
			m.Fail("case_points", "case_points has %d numbers, and there are %d cases and batches",
				len(points), len(found.cases))
			return nil
		default:
			if e.points = points[i]; e.points < 0 || e.points > 1e6 {
				m.Fail("case_points", "case_points has %v: must be between 0 and 1000000", e.points)
				return nil
			}
		}

		in := found.cases[batch]
		for _, id := range slices.SortedFunc(maps.Keys(in), key.compare) {
			c := *in[id]
			if c.text = text; c.in == "" || c.out == "" {
				r.Warn(cmp.Or(c.in, c.out), 0, patternRule, "it is the only file of its test case: the other one is empty")
			}
			e.cases = append(e.cases, c)
		}

		all = append(all, e)
	}

	return all
}

// matches are test cases by batch and case, and the batches that are ones: a case in none is in one of its
// own, with its number.
type matches struct {
	cases   map[key]map[key]*testCase
	batched map[key]bool
}

// match adds the files of the archive that a pattern matches.
func (r *reader) match(p pattern, field string, m yamlfile.Map, found matches, of func(*testCase) *string) bool {
	bytes, total := 0, 0
	for _, file := range r.tree.Below(r.archive) {
		name := strings.TrimPrefix(file, r.archive+"/")

		// An expression takes time in proportion to the text, so the bytes of all names bound the work.
		if bytes += len(name); bytes > maxNames {
			m.Fail(field, "the names in the archive have more than %d bytes: list the cases", maxNames)
			return false
		}
		if p.ahead != nil && !p.ahead.MatchString(name) {
			continue
		}

		at := p.rest.FindStringSubmatchIndex(name)
		if at == nil {
			continue
		}

		id, ok := groupKey(p.rest, "case", name, at)
		if !ok {
			m.Fail(field, "%s matches %q without a group called case", field, name)
			return false
		}

		batch, batched := groupKey(p.rest, "batch", name, at)
		if !batched {
			batch = id
		}

		found.batched[batch] = found.batched[batch] || batched
		if found.cases[batch] == nil {
			found.cases[batch] = map[key]*testCase{}
		}

		c := found.cases[batch][id]
		if c == nil {
			if c = new(testCase); total == api.MaxTests {
				m.Fail(field, "%s matches more than %d files", field, api.MaxTests)
				return false
			}
			total++
			found.cases[batch][id] = c
		}

		*of(c) = file
	}

	return true
}
