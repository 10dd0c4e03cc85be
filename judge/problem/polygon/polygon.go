// Package polygon reads problem packages of Codeforces' Polygon: full packages, which have their tests, and
// standard ones, whose tests their generators write. It executes nothing, and never a doall.sh.
package polygon

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/judge/problem"
)

const (
	file    = "problem.xml"
	maxXML  = 8 << 20
	maxTest = api.MaxTests
)

// document is problem.xml, as far as it matters for judging.
type document struct {
	XMLName xml.Name `xml:"problem"`
	Short   string   `xml:"short-name,attr"`
	Names   []struct {
		Language string `xml:"language,attr"`
		Value    string `xml:"value,attr"`
	} `xml:"names>name"`
	Judging struct {
		Input    string    `xml:"input-file,attr"`
		Output   string    `xml:"output-file,attr"`
		Runs     int       `xml:"run-count,attr"`
		Testsets []testset `xml:"testset"`
	} `xml:"judging"`
	Resources  []resource `xml:"files>resources>file"`
	Programs   []asset    `xml:"files>executables>executable"`
	Checker    *asset     `xml:"assets>checker"`
	Interactor *struct {
		asset
		Runs []int `xml:"runs>run"` // in which it talks with the solution, if that runs twice
	} `xml:"assets>interactor"`
	Tags []struct {
		Value string `xml:"value,attr"`
	} `xml:"tags>tag"`
	Validators []asset    `xml:"assets>validators>validator"`
	Solutions  []solution `xml:"assets>solutions>solution"`
}

type testset struct {
	Name   string `xml:"name,attr"`
	Time   int64  `xml:"time-limit"`   // milliseconds
	Memory int64  `xml:"memory-limit"` // bytes
	Count  int    `xml:"test-count"`
	Input  string `xml:"input-path-pattern"`
	Answer string `xml:"answer-path-pattern"`
	Tests  []struct {
		Method string  `xml:"method,attr"`
		Cmd    string  `xml:"cmd,attr"`
		From   string  `xml:"from-file,attr"`
		Group  string  `xml:"group,attr"`
		Points float64 `xml:"points,attr"`
		Sample bool    `xml:"sample,attr"`
	} `xml:"tests>test"`
	Groups []struct {
		Name    string  `xml:"name,attr"`
		Points  float64 `xml:"points,attr"`
		Policy  string  `xml:"points-policy,attr"`
		Depends []struct {
			Group string `xml:"group,attr"`
		} `xml:"dependencies>dependency"`
	} `xml:"groups>group"`
}

type source struct {
	Path string `xml:"path,attr"`
	Type string `xml:"type,attr"`
}

type asset struct {
	Name   string `xml:"name,attr"`
	Type   string `xml:"type,attr"`
	Source source `xml:"source"`
}

type solution struct {
	Tag    string `xml:"tag,attr"`
	Source source `xml:"source"`
}

type resource struct {
	source
	ForTypes string `xml:"for-types,attr"`
	Assets   []struct {
		Name string `xml:"name,attr"`
	} `xml:"assets>asset"`
}

// A reader reads one package.
type reader struct {
	problem.Findings
	tree *problem.Tree
	doc  document
	p    *problem.Problem
}

// Is reports whether a tree is such a package.
func Is(t *problem.Tree) bool { return t.Has(file) }

// Read reads the package whose root is t. The error lists every mistake.
func Read(t *problem.Tree) (*problem.Problem, error) {
	r := &reader{tree: t, p: &problem.Problem{Format: "polygon", Name: path.Base(t.Label())}}
	for _, link := range t.BrokenLinks() {
		r.Error(link, 0, "files", "it is a link that leads out of the package, or to nothing")
	}

	if r.parse() {
		r.metadata()
		r.runs()
		r.tests()
		r.programs()
		r.solutions()
		r.makers()
	}

	r.p.Warnings = r.Warnings()
	if err := r.Err(); err != nil {
		return nil, err
	}
	return r.p, nil
}

// parse decodes problem.xml.
func (r *reader) parse() bool {
	text, err := r.tree.Read(file, maxXML)
	if err != nil {
		r.Error(file, 0, "problem.xml", "%v", err)
		return false
	}

	d := xml.NewDecoder(bytes.NewReader(text))
	err = d.Decode(&r.doc)
	if err == nil {
		if _, more := d.Token(); !errors.Is(more, io.EOF) && more != nil {
			err = more
		}
	}

	if err != nil {
		line, _ := d.InputPos()
		text := err.Error()
		syntax, number := new(xml.SyntaxError), new(strconv.NumError)
		switch {
		case errors.As(err, &syntax):
			line, text = syntax.Line, syntax.Msg
		case errors.As(err, &number):
			text = fmt.Sprintf("%q is no number, or one that is too large", number.Num)
		case errors.Is(err, io.EOF):
			text = "there is no element problem in it"
		case strings.Contains(text, "CharsetReader"): // encoding/xml knows UTF-8 only
			text = "it is not in UTF-8, which Polygon writes"
		}

		r.Error(file, line, "problem.xml", "this cannot be read: %s", text)
		return false
	}

	return true
}

func (r *reader) metadata() {
	for _, n := range r.doc.Names {
		if r.p.Title == "" || n.Language == "english" {
			r.p.Title = n.Value
		}
	}

	if r.doc.Short != "" {
		r.p.Name = r.doc.Short
	}

	const rule = "judging"
	r.p.InputFile, r.p.OutputFile = r.doc.Judging.Input, r.doc.Judging.Output
	for _, one := range [][2]string{{"input-file", r.p.InputFile}, {"output-file", r.p.OutputFile}} {
		switch name, value := one[0], one[1]; {
		case value == "":
		case api.FileName(value) != nil:
			r.Error(file, 0, rule, "%s: %v", name, api.FileName(value))
		case r.doc.Interactor != nil:
			r.Error(file, 0, rule,
				"%s is %q, and the problem has an interactor, which talks over standard input and output", name, value)
		}
	}

	if r.p.InputFile != "" && r.p.InputFile == r.p.OutputFile {
		r.Error(file, 0, rule,
			"input-file and output-file are both %q: solutions would write over their input", r.p.InputFile)
	}
	if r.doc.Judging.Runs < 0 || r.doc.Judging.Runs > 2 {
		r.Error(file, 0, rule,
			"run-count is %d: brig supports problems whose solution runs once or twice for each test", r.doc.Judging.Runs)
	}
}

var number = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`%(0[1-9])?d`) })

// numbered is a pattern with its number, such as tests/%02d; ok is false if it has not exactly one.
func numbered(pattern string, n int) (name string, ok bool) {
	if len(number().FindAllString(pattern, -1)) != 1 || strings.Count(pattern, "%") != 1 {
		return "", false
	}
	return number().ReplaceAllStringFunc(pattern, func(verb string) string { return fmt.Sprintf(verb, n) }), true
}

// tests reads the testset called tests, or the last one.
func (r *reader) tests() {
	const rule = "testset"
	if len(r.doc.Judging.Testsets) == 0 {
		r.Error(file, 0, rule, "there is no testset")
		return
	}

	set := r.doc.Judging.Testsets[len(r.doc.Judging.Testsets)-1]
	for _, one := range r.doc.Judging.Testsets {
		if one.Name == "tests" {
			set = one
		}
	}

	r.p.Limits.Time, r.p.Limits.Memory = api.Duration(set.Time*1e6), api.Size(set.Memory)
	r.p.Limits.Timing = problem.Timing{Accepted: 1, TooSlow: 1, Resolution: api.Duration(1e8)}
	if set.Time <= 0 || set.Time > 3_600_000 || set.Memory <= 0 || set.Memory > 1<<40 {
		r.Error(file, 0, rule, "its time-limit of %d ms or its memory-limit of %d bytes makes no sense", set.Time, set.Memory)
		return
	}

	// The package says the number. It is bounded before the loop makes a test for each.
	if set.Count == 0 {
		set.Count = len(set.Tests)
	}
	if set.Count <= 0 || set.Count > maxTest {
		r.Error(file, 0, rule, "it has %d tests: must be between 1 and %d", set.Count, maxTest)
		return
	}
	if len(set.Tests) > set.Count {
		r.Error(file, 0, rule, "test-count is %d, and there are %d tests", set.Count, len(set.Tests))
		return
	}

	members := map[string][]int{}
	for i := range set.Count {
		input, ok := numbered(set.Input, i+1)
		answer, ok2 := numbered(set.Answer, i+1)
		if !ok || !ok2 {
			r.Error(file, 0, rule, "its patterns %q and %q must each have one number, such as %%02d", set.Input, set.Answer)
			return
		}
		if input == answer {
			r.Error(file, 0, rule, "test %d: its input and its answer are both %q", i+1, input)
			return
		}

		t := problem.Test{ID: path.Base(input), Input: input, Answer: answer}
		if !strings.Contains(path.Base(set.Input), "%") { // such as tests/%02d/input
			t.ID = input
		}
		if i < len(set.Tests) {
			t.Sample = set.Tests[i].Sample
			members[set.Tests[i].Group] = append(members[set.Tests[i].Group], i)
		}

		r.missing(set, i, t)
		r.p.Tests = append(r.p.Tests, t)
	}

	r.groups(set, members)
}

// languages maps the beginnings of Polygon's types to brig's names, the longer ones first.
var languages = []struct{ prefix, name string }{
	{"cpp", "cpp"}, {"c.", "c"}, {"java", "java"}, {"kotlin", "kotlin"}, {"python.pypy", "pypy"}, {"python.2", "python2"},
	{"python", "python"}, {"pas", "pascal"},
	{"csharp.mono", "mono"}, {"csharp", "csharp"}, {"go", "go"}, {"rust", "rust"}, {"ruby", "ruby"}, {"php", "php"}, {"perl", "perl"},
	{"js", "javascript"}, {"d", "d"},
	{"haskell", "haskell"}, {"scala", "scala"}, {"ocaml", "ocaml"},
}

// languageOf is brig's name of a type, or the type itself if that is unknown.
func languageOf(kind string) string {
	if name, known := knownLanguage(kind); known {
		return name
	}
	return kind
}

func knownLanguage(kind string) (name string, known bool) {
	for _, l := range languages {
		if strings.HasPrefix(kind, l.prefix) {
			return l.name, true
		}
	}
	return "", false
}

// program describes a program with one source, and the headers of the package next to it.
func (r *reader) program(what string, s source) *problem.Program {
	if s.Path == "" || !r.tree.Has(s.Path) {
		r.Error(file, 0, "assets", "the source %q of %s is not in the package", s.Path, what)
		return nil
	}
	p := r.describe(s)
	return &p
}

// describe describes a program whose source is in the package.
func (r *reader) describe(s source) problem.Program {
	p := problem.Program{Name: path.Base(s.Path), Main: s.Path, Language: languageOf(s.Type), Files: []string{s.Path}}
	for _, res := range r.doc.Resources {
		if problem.IsHeader(res.Path) && r.tree.Has(res.Path) && (p.Language == "cpp" || p.Language == "c") {
			p.Files = append(p.Files, res.Path)
		}
	}
	return p
}

// programs finds checker, interactor, validators, and files for solutions.
func (r *reader) programs() {
	if c := r.doc.Checker; c == nil {
		r.Error(file, 0, "assets", "there is no checker")
	} else if p := r.program("the checker", c.Source); p != nil {
		p.Protocol = "testlib"
		r.p.Checker = p
		if r.p.Scoring {
			p.Points = string(api.PointsAbsolute) // quitp gives points of the test
		}
	}

	if i := r.doc.Interactor; i != nil {
		if p := r.program("the interactor", i.Source); p != nil {
			p.Protocol, p.Passes = "testlib", r.interactorRuns()
			r.p.Interactor, r.p.Interactive = p, true
		}
	}

	for _, v := range r.doc.Validators {
		if p := r.program("a validator", v.Source); p != nil {
			p.Protocol = "testlib"
			r.p.Validators = append(r.p.Validators, *p)
		}
	}

	for _, res := range r.doc.Resources {
		if !r.tree.Has(res.Path) {
			continue
		}
		for _, a := range res.Assets {
			if strings.EqualFold(a.Name, "solution") {
				language := ""
				if res.ForTypes != "" {
					language = languageOf(res.ForTypes)
				}
				r.include(language, res.Path)
			}
		}
	}
}

func (r *reader) include(language, name string) {
	for i, in := range r.p.Include {
		if in.Language == language && in.Dir == path.Dir(name) {
			r.p.Include[i].Files = append(in.Files, name)
			return
		}
	}
	r.p.Include = append(r.p.Include, problem.Include{Language: language, Dir: path.Dir(name), Files: []string{name}})
}

// tags says what Polygon's tags of solutions mean.
var tags = map[string]problem.Expectation{
	"main":                            {Permitted: []string{"AC"}, Lower: true},
	"accepted":                        {Permitted: []string{"AC"}, Lower: true},
	"rejected":                        {Required: []string{"WA", "TLE", "RTE"}},
	"wrong-answer":                    {Permitted: []string{"AC", "WA"}, Required: []string{"WA"}},
	"presentation-error":              {Permitted: []string{"AC", "WA"}, Required: []string{"WA"}},
	"time-limit-exceeded":             {Permitted: []string{"AC", "TLE"}, Required: []string{"TLE"}, Upper: true},
	"time-limit-exceeded-or-accepted": {Permitted: []string{"AC", "TLE"}},
	"time-limit-exceeded-or-memory-limit-exceeded": {Permitted: []string{"AC", "TLE", "RTE"},
		Required: []string{"TLE", "RTE"}},
	"memory-limit-exceeded": {Permitted: []string{"AC", "RTE"}, Required: []string{"RTE"}},
	"failed":                {Required: []string{"RTE"}},
}

// solutions finds the submissions of the jury.
func (r *reader) solutions() {
	main := false
	for _, s := range r.doc.Solutions {
		p := r.program("a solution", s.Source)
		if p == nil {
			continue
		}

		p.Files = []string{p.Main} // a solution sees no testlib.h
		main = main || s.Tag == "main"
		j := problem.Jury{Program: *p, Path: s.Source.Path}
		if e, ok := tags[s.Tag]; ok {
			e.Rule = "tag " + s.Tag
			j.Expect = []problem.Expectation{e}
		} else {
			r.Warn(file, 0, "solutions", "the tag %q of %s is unknown: nothing is expected of it", s.Tag, s.Source.Path)
		}

		r.p.Jury = append(r.p.Jury, j)
	}

	if !main {
		r.Error(file, 0, "solutions", "there is no solution with the tag main")
	}
}
