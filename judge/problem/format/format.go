// Package format recognizes the format of a problem package and has its reader read it.
package format

import (
	"fmt"
	"path"
	"strings"

	"github.com/brig-sandbox/brig/judge/problem"
	"github.com/brig-sandbox/brig/judge/problem/cms"
	"github.com/brig-sandbox/brig/judge/problem/dmoj"
	"github.com/brig-sandbox/brig/judge/problem/kattis"
	"github.com/brig-sandbox/brig/judge/problem/polygon"
)

// reader is one format.
type reader struct {
	name string
	is   func(*problem.Tree) bool
	read func(*problem.Tree) (*problem.Problem, *problem.Tree, error)
}

var readers = []reader{
	{"a Kattis package", kattis.Is, inPlace(kattis.Read)},
	{"a Polygon package", polygon.Is, inPlace(polygon.Read)},
	{"a CMS task", cms.Is, inPlace(cms.Read)},
	{"a DMOJ problem", dmoj.Is, dmoj.Read},
}

// inPlace is for readers whose problems have their files where the package has them.
func inPlace(read func(*problem.Tree) (*problem.Problem, error)) func(*problem.Tree) (*problem.Problem, *problem.Tree, error) {
	return func(t *problem.Tree) (*problem.Problem, *problem.Tree, error) {
		p, err := read(t)
		return p, t, err
	}
}

// Read reads a package of any known format, or a directory of tests, and returns the tree of the files
// that the Problem names: t, or a directory in it, perhaps with an archive in it unpacked.
func Read(t *problem.Tree) (*problem.Problem, *problem.Tree, error) {
	for _, root := range []*problem.Tree{t, t.Unwrapped()} {
		for _, r := range readers {
			if r.is(root) {
				p, files, err := r.read(root)
				if err != nil {
					return nil, nil, fmt.Errorf("%s is %s with mistakes:\n%w", t.Label(), r.name, err)
				}
				return p, files, nil
			}
		}
	}

	if dir, name := below(t); dir != "" {
		return nil, nil, fmt.Errorf("%s/%s is %s, and other files are next to it: name that directory, or leave them out",
			t.Label(), dir, name)
	}

	p, err := Tests(t)
	return p, t, err
}

// below finds a package in a directory of a tree that is none. Its tests are not judged alone: its checker and
// limits would be lost without a word. An init.yml is not looked for, because any program may have one.
func below(t *problem.Tree) (dir, name string) {
	for _, file := range t.Names() {
		dir = path.Dir(file)
		switch base := path.Base(file); {
		case base == "problem.yaml":
			return dir, "a Kattis package"
		case base == "problem.xml":
			return dir, "a Polygon package"
		case base == "task.yaml" && t.HasDir(dir+"/input"):
			return dir, "a CMS task"
		}
	}
	return "", ""
}

// Tests reads a directory of tests, which is no package.
func Tests(t *problem.Tree) (*problem.Problem, error) {
	pairs, unpaired, err := problem.Pairs(t.Names())
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", t.Label(), err)
	case len(pairs) == 0:
		return nil, problem.NoTests(t.Label())
	}

	p := &problem.Problem{Format: "tests", Name: path.Base(t.Label()), Compare: &problem.Builtin{}}
	var several []problem.Pair
	for _, pair := range pairs {
		p.Tests = append(p.Tests, problem.Test{ID: pair.ID, Input: pair.Input, Answer: pair.Answer})
		if len(pair.Others) > 0 {
			several = append(several, pair)
		}
	}

	if len(several) > 0 {
		p.Warnings = append(p.Warnings, severalAnswers(several))
	}

	for _, file := range unpaired {
		p.Warnings = append(p.Warnings,
			problem.Finding{File: file, Text: "is ignored: " + problem.MissingInput(file), Warning: true})
	}
	return p, nil
}

// severalAnswers says which answer was taken for tests that have several: one note, for the first of them.
func severalAnswers(tests []problem.Pair) problem.Finding {
	first := tests[0]
	text := fmt.Sprintf("is the expected output of %s, and %s is ignored", first.Input, strings.Join(first.Others, ", "))
	if n := len(tests) - 1; n > 0 {
		text += fmt.Sprintf("; the same holds for %s more", problem.Count(n, "test"))
	}
	return problem.Finding{File: first.Answer, Text: text, Warning: true}
}
