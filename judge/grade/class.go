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

// entries are the files and directories in t, also the empty ones, that count. A README in the directory of a class is
// the work of nobody.
func (f Finder) entries(t *problem.Tree) []string {
	files, _ := t.Children(".")
	files = slices.DeleteFunc(files, describes)
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

// maxOuter is how many directories, each in the one before, may hold nothing but a class. Each costs a copy of the list
// of all files, and an archive may have 100,000 files below 500 directories (TestDirectoriesAroundAClass).
const maxOuter = 32

// class returns the directory of t in which each entry is a submission. An archive often has one directory that holds
// everything; a single directory may also be that of the only person who handed in.
func (f Finder) class(t *problem.Tree) *problem.Tree {
	label := path.Base(t.Label())
	stem := strings.TrimSuffix(label, path.Ext(label))
	for range maxOuter {
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
	return t
}
