package grade

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/judge/problem"
)

// In returns the submissions in a directory or an archive that holds those of many people: each file is one, and each
// directory and each zip archive in it is one. The tree should be tolerant (problem.OpenTolerant): the error is
// about all of it, and not about what one person handed in.
func (f Finder) In(t *problem.Tree) ([]Submission, error) {
	t = f.class(t)
	names := f.entries(t)
	if n := len(names); n > MaxSubmissions { // before any is read
		return nil, fmt.Errorf("%s: there are %d submissions: the maximum is %d", t.Label(), n, MaxSubmissions)
	}

	total := int64(0)
	for _, name := range names {
		if size := f.size(t, name); size <= problem.MaxArchive { // a larger one is not read
			total += size
		}
	}

	if total > maxTotal {
		return nil, fmt.Errorf("%s: the submissions have %s: the maximum is %s; leave out large files with --ignore", t.Label(),
			api.Size(total).About(), api.Size(maxTotal))
	}

	all := make([]Submission, 0, len(names))
	for _, name := range names {
		all = append(all, f.of(t, name))
	}
	return all, nil
}

// entries are the files and directories in t, also the empty ones, that count.
func (f Finder) entries(t *problem.Tree) []string {
	files, _ := t.Children(".")
	return slices.DeleteFunc(slices.Concat(files, t.Folders(".")), f.ignores)
}

// size is the size of a file, or of what counts below a directory.
func (f Finder) size(t *problem.Tree, name string) int64 {
	total := t.Size(name)
	for _, file := range t.Below(name) {
		if !f.ignores(file) {
			total += t.Size(file)
		}
	}
	return total
}

// of returns the submission that is one file or directory of t. One with a link is not read: a link could
// lead to the work of another person, and hand that in (GRD-11).
func (f Finder) of(t *problem.Tree, name string) Submission {
	below := t.Below(name) // nothing for a file
	for _, file := range append([]string{name}, below...) {
		if t.Linked(file) && !f.ignores(file) {
			return linked(name, file)
		}
	}
	if t.Has(name) {
		return f.file(t, name)
	}
	return f.Directory(t.Sub(name), name)
}

// class returns the directory of t in which each entry is a submission. An archive often has one directory that holds
// everything; a single directory may also be that of the only person who handed in.
func (f Finder) class(t *problem.Tree) *problem.Tree {
	label := path.Base(t.Label())
	stem := strings.TrimSuffix(label, path.Ext(label))
	for {
		names := f.entries(t)
		if len(names) != 1 || t.Has(names[0]) {
			return t
		}
		inner := t.Sub(names[0])
		if names[0] != stem && f.ofOnePerson(names[0], inner) {
			return t
		}
		if len(f.entries(inner)) == 0 {
			return t // an empty directory is the submission of a person
		}
		t = inner.Labeled(t.Label())
	}
}

// parts are the usual names of directories in the project of one person.
var parts = []string{"src", "source", "sources", "include", "lib", "data", "test", "tests", "app", "cmd", "pkg",
	"internal", "bin", "build", "target", "out", "doc", "docs", "node_modules"}

// ofOnePerson reports whether the directory of this name seems to be the work of one person, rather than that of a
// class.
func (f Finder) ofOnePerson(name string, t *problem.Tree) bool {
	if personOf(name) != name {
		return true // a learning platform has made it
	}

	var all project
	archives := 0
	files, _ := t.Children(".")
	for _, file := range files {
		switch {
		case f.ignores(file):
		case isZipName(file):
			archives++
		case f.IsSource(file, func() []byte { return nil }):
			all.sources = append(all.sources, file)
		}
	}

	var people []string // directories that are no part of a project
	for _, dir := range t.Folders(".") {
		if !f.ignores(dir) && !slices.Contains(parts, strings.ToLower(dir)) {
			people = append(people, dir)
		}
	}

	_, named := all.named(all.sources)
	switch {
	case named || len(files) > 0 && slices.ContainsFunc(files, isProjectFile):
		return true
	case len(all.sources) > 1 || archives > 1 || len(people) > 0:
		return false
	}

	return true
}

// isProjectFile reports whether a file describes a project.
func isProjectFile(name string) bool {
	return slices.Contains([]string{"go.mod", "Cargo.toml", "package.json", "Makefile", "CMakeLists.txt", "pom.xml",
		"pyproject.toml"}, name)
}
