// Package cms reads tasks in the "italian YAML" format of the Contest Management System: task.yaml with
// input/ and output/ (https://cms.readthedocs.io, External contest formats). It executes nothing.
package cms

import (
	"fmt"
	"math"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/judge/problem"
	"github.com/brig-sandbox/brig/judge/problem/yamlfile"
)

const (
	file   = "task.yaml"
	rule   = "task.yaml"
	maxDoc = 1 << 20

	maxPoints = 1e6 // of a subtask, or of a task without subtasks
)

// A reader reads one task.
type reader struct {
	problem.Findings
	tree  *problem.Tree
	p     *problem.Problem
	total float64 // points of a task without subtasks
}

// Is reports whether a tree is such a task.
func Is(t *problem.Tree) bool { return t.Has(file) && t.HasDir("input") }

// Read reads the task whose root is t. The error lists every mistake.
func Read(t *problem.Tree) (*problem.Problem, error) {
	r := &reader{tree: t, p: &problem.Problem{Format: "cms", Name: path.Base(t.Label()),
		Compare: &problem.Builtin{How: string(api.CompareWhiteDiff)}}}
	for _, link := range t.BrokenLinks() {
		r.Error(link, 0, "files", "it is a link that leads out of the task, or to nothing")
	}

	if m, ok := r.document(); ok {
		n := r.metadata(m)
		r.files(m)
		r.tests(n)
		r.groups()
		r.programs()
		r.foreign()
	}

	r.p.Warnings = r.Warnings()
	if err := r.Err(); err != nil {
		return nil, err
	}
	return r.p, nil
}

func (r *reader) document() (yamlfile.Map, bool) {
	text, err := r.tree.Read(file, maxDoc)
	if err != nil {
		r.Error(file, 0, rule, "%v", err)
		return yamlfile.Map{}, false
	}
	m := yamlfile.Read(file, text, rule, &r.Findings)
	return m, !r.Failed()
}

// metadata reads task.yaml, and returns the number of tests that it says; zero: it says none.
func (r *reader) metadata(m yamlfile.Map) int {
	first := func(keys ...string) string {
		for _, key := range keys {
			if text := m.String(key); text != "" {
				return text
			}
		}
		return ""
	}
	if name := first("name", "nome_breve"); name != "" {
		r.p.Name = name
	}

	r.p.Title = first("title", "nome")
	for _, key := range []string{"time_limit", "timeout"} {
		if v, ok := m.Float(key); ok && v > 0 && v <= 3600 {
			r.p.Limits.Time = api.Duration(v * 1e9)
		} else if ok {
			m.Fail(key, "%s is %v: must be a number of seconds, more than 0 and at most 3600", key, v)
		}
	}

	for _, key := range []string{"memory_limit", "memlimit"} {
		if v, ok := m.Int(key, 1); ok && v <= 1<<20 {
			r.p.Limits.Memory = api.Size(v) * api.MiB
		} else if ok {
			m.Fail(key, "%s is %d: must be a number of MiB, at most %d", key, v, 1<<20)
		}
	}

	if m.Bool("output_only", false) {
		m.Fail("output_only", "brig does not support output-only tasks, whose submissions are no programs")
	}
	if m.Has("score_type") {
		r.Warn(file, m.LineOf("score_type"), rule,
			"score_type is not read: the tests score as gen/GEN says, or all the same without it")
	}

	r.total = 100
	if v, ok := m.Float("total_value"); ok && v >= 0 && v <= maxPoints {
		r.total = v
	} else if ok {
		m.Fail("total_value", "total_value is %v: must be a number of points, at most %.0f", v, maxPoints)
	}

	n, _ := m.Int("n_input", 1)
	return int(n)
}

// files reads where a submission has its input and output: in files, unless a manager has them.
func (r *reader) files(m yamlfile.Map) {
	if r.manager(m) {
		return
	}
	r.p.InputFile, r.p.OutputFile = r.named(m, "infile", "input.txt"), r.named(m, "outfile", "output.txt")
	if r.p.InputFile != "" && r.p.InputFile == r.p.OutputFile {
		m.Fail("outfile", "infile and outfile are both %q: submissions would write over their input", r.p.InputFile)
	}
}

// named is the name of the file that a task says submissions read or write; standard is that of tasks that say
// nothing, and an empty text means stdin or stdout.
func (r *reader) named(m yamlfile.Map, key, standard string) string {
	if !m.Has(key) {
		return standard
	}
	name := m.String(key)
	if name != "" {
		if err := api.FileName(name); err != nil {
			m.Fail(key, "%s: %v", key, err)
		}
	}
	return name
}

// tests finds input/inputN.txt with output/outputN.txt, from 0.
func (r *reader) tests(n int) {
	said := n > 0
	if !said {
		for r.tree.Has(fmt.Sprintf("input/input%d.txt", n)) {
			n++
		}
	}

	r.unused(n, said)
	if n == 0 || n > api.MaxTests {
		r.Error("input/", 0, "tests", "there are %d tests: must be between 1 and %d", n, api.MaxTests)
		return
	}

	for i := range n {
		t := problem.Test{ID: strconv.Itoa(i), Input: fmt.Sprintf("input/input%d.txt", i),
			Answer: fmt.Sprintf("output/output%d.txt", i)}
		for _, name := range []string{t.Input, t.Answer} {
			if !r.tree.Has(name) {
				r.Error(name, 0, "tests", "there is no such file")
			}
		}
		r.p.Tests = append(r.p.Tests, t)
	}
}

var inputName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^input/input([0-9]+)\.txt$`) })

// unused says that an input is no test: the task says that it has n, or the input after the last one is missing.
func (r *reader) unused(n int, said bool) {
	files, _ := r.tree.Children("input")
	for _, name := range files {
		found := inputName().FindStringSubmatch(name)
		if found == nil {
			continue
		}
		if i, err := strconv.Atoi(found[1]); err == nil && i < n {
			continue
		}
		if said {
			r.Warn(name, 0, "tests", "it is no test: n_input is %d", n)
			continue
		}
		r.Error(name, 0, "tests", "it is no test: there is no input/input%d.txt", n)
	}
}

// groups reads the subtasks of gen/GEN: a line "# ST: points" begins one, and each other line that is no
// comment is a test, as is a line "#COPY: file". Each subtask is worth its points if all its tests are
// right, and the least share of its tests otherwise (GroupMin). Without subtasks all tests are worth the same (Sum).
func (r *reader) groups() {
	const gen = "gen/GEN"
	if !r.tree.Has(gen) {
		r.sum()
		return
	}

	text, err := r.tree.Read(gen, maxDoc)
	if err != nil {
		r.Error(gen, 0, "gen/GEN", "%v", err)
		return
	}

	var groups []problem.Group
	test, early := 0, 0 // early is the line of a test above all subtasks
	for i, line := range strings.Split(string(text), "\n") {
		line = strings.TrimSpace(line)
		comment, isComment := strings.CutPrefix(line, "#")
		comment = strings.TrimSpace(comment)
		points, isSubtask := strings.CutPrefix(comment, "ST:")
		switch {
		case line == "":
		case isComment && isSubtask:
			v, err := strconv.ParseFloat(strings.TrimSpace(points), 64)
			if err != nil || v < 0 || v > maxPoints || math.IsNaN(v) {
				r.Error(gen, i+1, "gen/GEN", "a subtask must have points, at most %.0f: # ST: 30", maxPoints)
				return
			}
			groups = append(groups, problem.Group{ID: fmt.Sprintf("subtask %d", len(groups)+1), How: "min", Points: v})

		case isComment && !strings.HasPrefix(comment, "COPY:"):
		default:
			if len(groups) > 0 {
				g := &groups[len(groups)-1]
				g.Tests = append(g.Tests, strconv.Itoa(test))
			} else if early == 0 {
				early = i + 1
			}
			test++
		}
	}

	if len(groups) == 0 {
		r.sum()
		return
	}

	// The lines of gen/GEN number the tests. With another count, tests would be in the wrong subtasks.
	if test != len(r.p.Tests) {
		r.Error(gen, 0, "gen/GEN", "it has %s, and the task %d", problem.Count(test, "test"), len(r.p.Tests))
		return
	}
	if early > 0 {
		r.Error(gen, early, "gen/GEN", "the test is in no subtask: the first # ST is below it")
	}

	for _, g := range groups {
		if len(g.Tests) == 0 && g.Points > 0 {
			r.Error(gen, 0, "gen/GEN", "%s has points and no test", g.ID)
		}
	}

	r.p.Scoring, r.p.Groups = true, groups
}

// sum makes one group of all tests.
func (r *reader) sum() {
	all := problem.Group{ID: "all", How: "sum", Points: r.total}
	for _, t := range r.p.Tests {
		all.Tests = append(all.Tests, t.ID)
	}
	r.p.Scoring, r.p.Groups = true, []problem.Group{all}
}

// known are the languages of the format that brig has.
var known = []string{"cpp", "c", "python", "java", "pascal", "rust", "csharp", "php", "haskell"}

// languageOf is the language of a source, by its name; "": it is none, or the format does not have its language.
func languageOf(name string) string {
	language := problem.LanguageOf(name, nil)
	if !slices.Contains(known, language) {
		return ""
	}
	return language
}

// programs finds the checker, graders and solutions.
func (r *reader) programs() {
	for _, name := range []string{"check/checker", "cor/correttore"} {
		source := r.source(name)
		switch {
		case r.p.Interactive: // the manager says what a submission is worth
		case source != "":
			r.p.Compare = nil
			r.p.Checker = &problem.Program{Name: path.Base(source), Main: source, Language: languageOf(source),
				Protocol: "cms", Files: r.headers(source)}
		case r.tree.Has(name):
			r.Error(name, 0, "check",
				"it is a compiled program, which brig does not run: put its source next to it, such as %s.cpp", name)
		}
	}

	files, _ := r.tree.Children("sol")
	for _, name := range files {
		base := strings.TrimSuffix(path.Base(name), path.Ext(name))
		language := languageOf(name)
		switch {
		case language == "" && !problem.IsHeader(name):
		case base == "grader" || base == "stub" || problem.IsHeader(name):
			r.include(language, name)
		default:
			j := problem.Jury{Program: problem.Program{Name: path.Base(name), Main: name, Files: []string{name},
				Language: language}, Path: name}
			if base == "solution" || base == "soluzione" {
				j.Expect = []problem.Expectation{{Permitted: []string{"AC"}, Lower: true, Rule: "sol/" + base}}
			}
			r.p.Jury = append(r.p.Jury, j)
		}
	}

	r.p.Limits.Timing = problem.Timing{Accepted: 1, TooSlow: 1, Resolution: api.Duration(1e8)}
}

// source is the source of a program that the task has compiled; empty: there is none.
func (r *reader) source(name string) string {
	for _, ext := range []string{".cpp", ".cc", ".cxx", ".c++", ".C", ".c", ".py"} {
		if r.tree.Has(name + ext) {
			return name + ext
		}
	}
	return ""
}

// foreign refuses the source of a checker or manager in a language in which it is not run: the task would be
// judged in another way without it.
func (r *reader) foreign() {
	for _, dir := range []string{"check", "cor"} {
		files, _ := r.tree.Children(dir)
		for _, name := range files {
			stem := strings.TrimSuffix(name, path.Ext(name))
			if slices.Contains([]string{"check/checker", "check/manager", "cor/correttore", "cor/manager"}, stem) &&
				languageOf(name) != "" && r.source(stem) == "" {
				r.Error(name, 0, "check", "brig runs checkers and managers in C++, C and Python")
			}
		}
	}
}

// headers are a source, and the headers in its directory.
func (r *reader) headers(source string) []string {
	files, _ := r.tree.Children(path.Dir(source))
	return slices.DeleteFunc(files, func(name string) bool { return name != source && !problem.IsHeader(name) })
}

// include adds a file for submissions in a language; a header is for C++ and C.
func (r *reader) include(language, name string) {
	wanted := []string{language}
	if language == "" {
		wanted = []string{"c", "cpp"}
	}
	for _, l := range wanted {
		i := slices.IndexFunc(r.p.Include, func(in problem.Include) bool { return in.Language == l })
		if i < 0 {
			r.p.Include = append(r.p.Include, problem.Include{Language: l, Dir: "sol"})
			i = len(r.p.Include) - 1
		}
		r.p.Include[i].Files = append(r.p.Include[i].Files, name)
	}
}
