// Package cms reads tasks in the "italian YAML" format of the Contest Management System: task.yaml with
// input/ and output/ (https://cms.readthedocs.io, External contest formats). It executes nothing.
package cms

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/problem"
	"github.com/brig-sandbox/brig/problem/yamlfile"
)

const (
	file   = "task.yaml"
	rule   = "task.yaml"
	maxDoc = 1 << 20
)

// A reader reads one task.
type reader struct {
	problem.Findings
	tree *problem.Tree
	p    *problem.Problem
}

// Is reports whether a tree is such a task.
func Is(t *problem.Tree) bool { return t.Has(file) && t.HasDir("input") }

// Read reads the task whose root is t. The error lists every mistake.
func Read(t *problem.Tree) (*problem.Problem, error) {
	r := &reader{tree: t, p: &problem.Problem{Format: "cms", Name: path.Base(t.Label()), Compare: &problem.Builtin{How: string(api.CompareWhiteDiff)}}}
	for _, link := range t.BrokenLinks() {
		r.Error(link, 0, "files", "it is a link that leads out of the task, or to nothing")
	}
	if m, ok := r.document(); ok {
		n := r.metadata(m)
		r.tests(n)
		r.groups()
		r.programs()
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
	return m, r.Err() == nil
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
			m.Fail(key, "%s is %v: must be a number of seconds", key, v)
		}
	}
	for _, key := range []string{"memory_limit", "memlimit"} {
		if v, ok := m.Int(key, 1); ok {
			r.p.Limits.Memory = api.Size(v) * api.MiB
		}
	}
	for key, standard := range map[string]string{"infile": "input.txt", "outfile": "output.txt"} {
		text := standard // of tasks that say nothing
		if m.IsText(key) {
			text = m.String(key)
		}
		if text != "" {
			r.Error(file, m.LineOf(key), rule, "%s is %q: brig supports tasks with %s \"\", which read standard input and write standard output", key, text, key)
		}
	}
	if m.Bool("output_only", false) {
		m.Fail("output_only", "brig does not support output-only tasks, whose submissions are no programs")
	}
	n, _ := m.Int("n_input", 1)
	return int(n)
}

// tests finds input/inputN.txt with output/outputN.txt, from 0.
func (r *reader) tests(n int) {
	if n == 0 {
		for r.tree.Has(fmt.Sprintf("input/input%d.txt", n)) {
			n++
		}
	}
	if n == 0 || n > api.MaxTests {
		r.Error("input/", 0, "tests", "there are %d tests: must be between 1 and %d", n, api.MaxTests)
		return
	}
	for i := range n {
		t := problem.Test{ID: strconv.Itoa(i), Input: fmt.Sprintf("input/input%d.txt", i), Answer: fmt.Sprintf("output/output%d.txt", i)}
		for _, name := range []string{t.Input, t.Answer} {
			if !r.tree.Has(name) {
				r.Error(name, 0, "tests", "there is no such file")
			}
		}
		r.p.Tests = append(r.p.Tests, t)
	}
}

// groups reads the subtasks of gen/GEN: a line "# ST: points" begins one, and each other line that is no
// comment is a test, as is a line "#COPY: file". Each subtask is worth its points if all its tests are
// right, and the least share of its tests otherwise (GroupMin).
func (r *reader) groups() {
	const gen = "gen/GEN"
	if !r.tree.Has(gen) {
		return
	}
	text, err := r.tree.Read(gen, maxDoc)
	if err != nil {
		r.Error(gen, 0, "gen/GEN", "%v", err)
		return
	}
	var groups []problem.Group
	test := 0
	for i, line := range strings.Split(string(text), "\n") {
		line = strings.TrimSpace(line)
		comment, isComment := strings.CutPrefix(line, "#")
		comment = strings.TrimSpace(comment)
		points, isSubtask := strings.CutPrefix(comment, "ST:")
		switch {
		case line == "":
		case isComment && isSubtask:
			v, err := strconv.ParseFloat(strings.TrimSpace(points), 64)
			if err != nil || v < 0 || v > 1e6 {
				r.Error(gen, i+1, "gen/GEN", "a subtask must have points: # ST: 30")
				return
			}
			groups = append(groups, problem.Group{ID: fmt.Sprintf("subtask %d", len(groups)+1), How: "min", Points: v})
		case isComment && !strings.HasPrefix(comment, "COPY:"):
		default:
			if len(groups) > 0 {
				g := &groups[len(groups)-1]
				g.Tests = append(g.Tests, strconv.Itoa(test))
			}
			test++
		}
	}
	if len(groups) == 0 {
		return
	}
	if test != len(r.p.Tests) {
		r.Error(gen, 0, "gen/GEN", "it has %d tests, and the task %d", test, len(r.p.Tests))
		return
	}
	r.p.Scoring, r.p.Groups = true, groups
}

// languages are the endings of sources, with brig's names.
var languages = map[string]string{".cpp": "cpp", ".cc": "cpp", ".c": "c", ".py": "python", ".java": "java", ".pas": "pascal", ".rs": "rust", ".cs": "csharp", ".php": "php", ".hs": "haskell"}

// programs finds the checker, graders and solutions.
func (r *reader) programs() {
	for _, name := range []string{"check/manager", "cor/manager"} {
		if r.tree.Has(name) || r.source(name) != "" {
			r.Error(name, 0, "check", "brig does not support communication tasks: their manager talks over named pipes, perhaps with several processes at once, and an interactor of brig over its stdin and stdout with one")
		}
	}
	for _, name := range []string{"check/checker", "cor/correttore"} {
		source := r.source(name)
		switch {
		case source != "":
			r.p.Compare = nil
			r.p.Checker = &problem.Program{Name: path.Base(source), Main: source, Language: languages[path.Ext(source)], Protocol: "cms", Files: r.headers(source)}
		case r.tree.Has(name):
			r.Error(name, 0, "check", "it is a compiled program, which brig does not run: put its source next to it, such as %s.cpp", name)
		}
	}
	files, _ := r.tree.Children("sol")
	for _, name := range files {
		base := strings.TrimSuffix(path.Base(name), path.Ext(name))
		language := languages[path.Ext(name)]
		switch {
		case language == "" && path.Ext(name) != ".h":
		case base == "grader" || base == "stub" || path.Ext(name) == ".h":
			r.include(language, name)
		default:
			j := problem.Jury{Program: problem.Program{Name: path.Base(name), Main: name, Files: []string{name}, Language: language}, Path: name}
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
	for _, ext := range []string{".cpp", ".cc", ".c", ".py"} {
		if r.tree.Has(name + ext) {
			return name + ext
		}
	}
	return ""
}

// headers are a source, and the headers in its directory.
func (r *reader) headers(source string) []string {
	files, _ := r.tree.Children(path.Dir(source))
	return slices.DeleteFunc(files, func(name string) bool { return name != source && path.Ext(name) != ".h" })
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
