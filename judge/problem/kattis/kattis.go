// Package kattis reads problem packages of the Kattis problem package format: legacy, legacy-icpc,
// 2023-07-draft and 2025-09 (https://www.kattis.com/problem-package-format/spec). It executes nothing.
package kattis

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/judge/problem"
	"github.com/brig-sandbox/brig/judge/problem/yamlfile"
)

// The versions of the format.
const (
	legacy  = "legacy"
	icpc    = "legacy-icpc"
	draft   = "2023-07-draft"
	current = "2025-09"
)

// The bounds of what is read of one package.
const (
	maxYAML    = 1 << 20
	maxProgram = 1 << 20 // of a source whose text says something
)

// A reader reads one package.
type reader struct {
	*problem.Findings
	tree    *problem.Tree
	version string
	p       *problem.Problem
	custom  bool // legacy: validation is custom
	flags   []string
	objMin  bool // legacy: a lower score is better
}

// Is reports whether a tree is such a package.
func Is(t *problem.Tree) bool { return t.Has("problem.yaml") }

// form is what names of files and directories must match, and maxName their most bytes; others do not
// count. A bound in the expression would take half a millisecond to compile, in every command of brig.
var form = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-zA-Z0-9_][a-zA-Z0-9_.-]*$`) })

const maxName = 255

// Read reads the package whose root is t. The error lists every mistake, with file, line and rule.
func Read(t *problem.Tree) (*problem.Problem, error) {
	r := &reader{Findings: new(problem.Findings), p: &problem.Problem{Name: path.Base(t.Label())}}
	r.tree = t.Only(func(name string) bool {
		if name == problem.HiddenTimeLimit {
			return true
		}
		for part := range strings.SplitSeq(name, "/") {
			if len(part) > maxName || !form().MatchString(part) {
				if slices.Contains([]string{"data", "submissions", "input_validators", "output_validator"},
					strings.SplitN(name, "/", 2)[0]) {
					r.Warn(name, 0, "General requirements",
						"it does not count, because %q is not a name of letters, digits, period, dash and underscore", part)
				}
				return false
			}
		}
		return true
	})

	r.metadata()
	r.links()
	r.data()
	r.validators()
	r.namedValidators()
	r.include()
	r.jury()
	r.collisions()
	r.p.Warnings = r.Warnings()
	if err := r.Err(); err != nil {
		return nil, err
	}
	return r.p, nil
}

// judged are the directories and files that judging reads.
var judged = []string{"data", "submissions", "include", "graders", "input_validators", "input_format_validators",
	"output_validators", "output_validator", "static_validator", "problem.yaml", ".timelimit", "domjudge-problem.ini"}

// links refuses links that lead out of the package. Statements do not matter for judging, and packages of
// before 2025-09 have links to those of their neighbours.
func (r *reader) links() {
	for _, link := range r.tree.BrokenLinks() {
		const what = "it is a link that leads out of the package, or to nothing"
		if first, _, _ := strings.Cut(link, "/"); r.version == current || slices.Contains(judged, first) {
			r.Error(link, 0, "General requirements", what)
		} else {
			r.Warn(link, 0, "General requirements", what+": it does not count")
		}
	}
}

// yaml reads a YAML file of the package; empty if there is none.
func (r *reader) yaml(file, rule string) yamlfile.Map {
	if !r.tree.Has(file) {
		return yamlfile.Map{File: file}
	}
	text, err := r.tree.Read(file, maxYAML)
	if err != nil {
		r.Error(file, 0, rule, "%v", err)
		return yamlfile.Map{File: file}
	}
	if r.version == current && file != "problem.yaml" {
		text = []byte(problem.Substitute(string(text), r.p.Constants))
	}
	return yamlfile.Read(file, text, rule, r.Findings)
}

// unknown reports the keys of a mapping that the format does not have: mistakes in 2025-09, which says
// so, and warnings in older versions, whose packages have keys of their tools.
func (r *reader) unknown(m yamlfile.Map, rule, where string) {
	for _, key := range m.Unknown() {
		if r.version == current {
			r.Error(m.File, m.LineOf(key), rule, "unknown key %q%s", key, where)
		} else {
			r.Warn(m.File, m.LineOf(key), rule, "unknown key %q%s is ignored", key, where)
		}
	}
}

// modern reports whether problem.yaml has the keys of 2025-09.
func (r *reader) modern() bool { return r.version == current || r.version == draft }

// brigNames are the languages of the format whose name in brig is another.
var brigNames = map[string]string{"python3": "python", "python2": "python2",
	"python3numpy": "python-full", "visualbasic": "vb"}

// brigName is brig's name of a language of the format.
func brigName(code string) string {
	if name, ok := brigNames[code]; ok {
		return name
	}
	return code
}

// Code is the format's code of a language of brig.
func Code(name string) string {
	for code, brig := range brigNames {
		if brig == name {
			return code
		}
	}
	return name
}

// stage reads the limits of a compiler or a validator.
func stage(m yamlfile.Map, name string) problem.Stage {
	var s problem.Stage
	if key := name + "_time"; m.Has(key) {
		v, ok := m.Int(key, 1)
		if ok && v > maxTime {
			m.Fail(key, "%s is %d: must be at most %d seconds", key, v, maxTime)
		}
		s.Time = api.Duration(min(v, maxTime) * 1e9)
	}

	s.Memory = size(m, name+"_memory", api.MiB)
	if name == "validation" {
		s.Output = size(m, name+"_output", api.MiB)
	}
	return s
}

const maxSize = 1 << 20 // MiB or KiB

func size(m yamlfile.Map, key string, unit api.Size) api.Size {
	v, _ := m.Int(key, 1)
	if v > maxSize {
		m.Fail(key, "%s is %d: must be at most %d", key, v, maxSize)
	}
	return api.Size(v) * unit
}
