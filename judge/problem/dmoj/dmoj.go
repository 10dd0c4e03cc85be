// Package dmoj reads problems in the format of the DMOJ judge: init.yml with test cases in files or in a
// zip archive (https://docs.dmoj.ca, Problem format). It executes nothing, also not the Python with which
// such a file can compute its keys.
package dmoj

import (
	"path"
	"strings"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/judge/problem"
	"github.com/brig-sandbox/brig/judge/problem/yamlfile"
)

const (
	file       = "init.yml"
	rule       = "init.yml"
	maxDoc     = 1 << 20
	maxArchive = 128 << 20 // of the test cases
)

// A reader reads one problem.
type reader struct {
	problem.Findings
	tree    *problem.Tree
	p       *problem.Problem
	top     yamlfile.Map
	archive string // name of the archive of test cases; empty: there is none

	checkArgs []string // of a checker, for every test
	partial   bool     // the checker can give a part of the points
	places    []place  // of each test
}

// A place is where DMOJ has a test.
type place struct {
	batch  int // from 1; zero: it is in none
	number int // among all cases, from 0
}

// Is reports whether a tree is such a problem.
func Is(t *problem.Tree) bool { return t.Has(file) }

// Read reads the problem whose root is t, and returns its tree with the archive of test cases unpacked, as a
// directory with the archive's name. The error lists every mistake.
func Read(t *problem.Tree) (*problem.Problem, *problem.Tree, error) {
	r := &reader{tree: t, p: &problem.Problem{Format: "dmoj", Name: path.Base(t.Label()), Scoring: true}}
	for _, link := range t.BrokenLinks() {
		r.Error(link, 0, "files", "it is a link that leads out of the problem, or to nothing")
	}

	if r.document() {
		r.openArchive()
	}
	if !r.Failed() {
		r.settings()
		r.judging()
		r.score(r.cases())
		r.validator()
		r.unknown(r.top)
	}

	r.p.Warnings = r.Warnings()
	if err := r.Err(); err != nil {
		return nil, nil, err
	}
	return r.p, r.tree, nil
}

// document reads init.yml.
func (r *reader) document() bool {
	text, err := r.tree.Read(file, maxDoc)
	if err != nil {
		r.Error(file, 0, rule, "%v", err)
		return false
	}
	r.top = yamlfile.Read(file, text, rule, &r.Findings)
	if !r.Failed() && len(r.top.Keys()) == 0 {
		r.Error(file, 0, rule, "it has no keys: test_cases is required")
	}
	return !r.Failed()
}

// openArchive makes the members of the archive of test cases files of the tree.
func (r *reader) openArchive() {
	name := r.top.String("archive")
	if name == "" {
		return
	}

	inside, ok := r.inside(r.top, "archive", name)
	switch {
	case !ok:
	case r.tree.HasDir(inside): // it was unpacked before
		r.archive = inside
	case !r.tree.Has(inside):
		r.top.Fail("archive", "archive %q: there is no such file", name)
	default:
		tree, err := r.tree.Unpacked(inside, maxArchive)
		if err != nil {
			r.top.Fail("archive", "%v", err)
			return
		}
		r.tree, r.archive = tree, inside
	}
}

// inside is a name of a file as the tree has it; ok is false if it leads out of the problem.
func (r *reader) inside(m yamlfile.Map, key, name string) (clean string, ok bool) {
	clean = path.Clean(name)
	if path.IsAbs(clean) || clean == "." || clean == ".." || strings.HasPrefix(clean, "../") {
		m.Fail(key, "%s is %q: must be the name of a file of the problem", key, name)
		return "", false
	}
	return clean, true
}

// find finds a file of the problem, or of the archive.
func (r *reader) find(m yamlfile.Map, key, name string) string {
	clean, ok := r.inside(m, key, name)
	switch {
	case !ok:
		return ""
	case r.tree.Has(clean):
		return clean
	case r.archive != "" && r.tree.Has(path.Join(r.archive, clean)):
		return path.Join(r.archive, clean)
	case r.archive != "":
		m.Fail(key, "%s is %q: there is no such file, neither in the problem nor in %s", key, name, r.archive)
	default:
		m.Fail(key, "%s is %q: there is no such file", key, name)
	}

	return ""
}

// settings reads the keys about the submissions' runs.
func (r *reader) settings() {
	m := r.top
	if v, ok := m.Int("output_limit_length", 1); ok {
		r.p.Limits.Output = api.Size(v)
	}

	r.Warn(file, 0, rule, "it has no limits of time and memory, which DMOJ keeps elsewhere: give them to brig")
	if flag(m, "unbuffered", false) {
		r.Warn(file, m.LineOf("unbuffered"), rule, "unbuffered is ignored: programs write to a pipe, and must flush")
	}
	if m.Has("symlinks") {
		m.Fail("symlinks", "brig does not support symlinks in the directory of a submission")
	}
	if m.Has("wall_time_factor") {
		r.Warn(file, m.LineOf("wall_time_factor"), rule,
			"wall_time_factor is ignored: brig's limit of elapsed time is twice that of processor time and a second")
	}
	if m.Has("hints") {
		r.Warn(file, m.LineOf("hints"), rule, "hints is ignored: it is for the runtimes of DMOJ")
	}
	if m.Has("tests") {
		r.Warn(file, m.LineOf("tests"), rule, "tests is ignored: brig does not read DMOJ's tests of a problem")
	}

	m.Ignore("symlinks", "wall_time_factor", "hints", "tests", "meta", "output_prefix_length", "archive")
	for _, key := range m.Keys() {
		if name, dynamic := strings.CutSuffix(key, "+"); dynamic {
			m.Fail(key, "%s is Python, which brig does not execute here: write the value of %s itself", key,
				strings.TrimSuffix(name, "+"))
			m.Ignore(key)
		}
	}
}

// flag is a truth value as YAML 1.1 writes it, which DMOJ reads.
func flag(m yamlfile.Map, key string, standard bool) bool {
	switch strings.ToLower(m.String(key)) {
	case "":
		return standard
	case "yes", "on", "true", "y":
		return true
	case "no", "off", "false", "n":
		return false
	}
	m.Fail(key, "%s must be true or false", key)
	return standard
}

// unknown warns of the keys that nothing has asked for.
func (r *reader) unknown(m yamlfile.Map) {
	for _, key := range m.Unknown() {
		r.Warn(file, m.LineOf(key), rule, "key %q is unknown, and ignored", key)
	}
}
