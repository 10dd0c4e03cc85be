package grade

import (
	"path"
	"slices"
	"strings"

	"github.com/brig-sandbox/brig/judge/problem"
)

// parts are the usual names of directories in the project of one person.
var parts = []string{"src", "source", "sources", "include", "lib", "data", "test", "tests", "app", "cmd", "pkg",
	"internal", "bin", "build", "target", "out", "doc", "docs", "node_modules"}

// isPart reports whether a directory of this name is a part of a project.
func isPart(name string) bool { return slices.Contains(parts, strings.ToLower(name)) }

// work is the form of the names of pieces of work, such as "labs", "Exercise 2" and "hw-3b". A number alone, or with one
// letter, may be that of a person.
var work = compiled(`^(?i)((labs?|exercises?|tasks?|problems?|homeworks?|hw|assignments?|questions?|aufgaben?)|` +
	`(lab|labor|ex|exercise|uebung|übung|aufgabe|blatt|task|tp|td|tarea|problem|hw|homework|assignment|assgn|question|` +
	`part|week|day|chapter|chap|step|lesson|sheet|quiz|exam)[ _.-]?[0-9]{1,3}[a-z]?)$`)

// isWork reports whether a directory of this name has a piece of work, rather than the work of a person.
func isWork(name string) bool { return work().MatchString(name) }

// describing is the form of the names of files that describe what is next to them.
var describing = compiled(`^(?i)(readme|license|licence|copying|authors|contributing|changelog)([.][a-z]{1,8})?$`)

// describes reports whether a file only describes what is next to it.
func describes(name string) bool { return describing().MatchString(path.Base(name)) }

// reports are the extensions of files that people write about their programs, or with them. They are sources only where
// a command line says that each file is one.
var reports = []string{".md", ".txt", ".pdf", ".rst", ".adoc", ".doc", ".docx", ".odt", ".rtf", ".png", ".jpg", ".jpeg", ".log"}

// isReport reports whether a file of a project is hardly its program.
func isReport(name string) bool {
	return describes(name) || isProjectFile(path.Base(name)) || slices.Contains(reports, strings.ToLower(path.Ext(name)))
}

// hasSource reports whether a file below a directory is a source, or may have one.
func (f Finder) hasSource(t *problem.Tree, dir string) bool {
	return slices.ContainsFunc(t.Below(dir), func(name string) bool { return f.isWorkFile(name) })
}

// isWorkFile reports whether a file is a source by its name, or may have one.
func (f Finder) isWorkFile(name string) bool {
	base := path.Base(name)
	return !f.ignores(name) && (isZipName(base) || isNotebook(base) || f.IsSource(base, func() []byte { return nil }))
}

// ofOnePerson reports whether the directory of this name seems to be the work of one person, rather than that of a
// class.
func (f Finder) ofOnePerson(name string, t *problem.Tree) bool {
	if personOf(name) != name {
		return true // a learning platform has made it
	}

	var all project
	archives, others := 0, 0
	files, _ := t.Children(".")
	files = slices.DeleteFunc(files, f.ignores)
	for _, file := range files {
		switch {
		case isZipName(file):
			archives++
		case f.IsSource(file, func() []byte { return nil }):
			all.sources = append(all.sources, file)
		default:
			others++
		}
	}

	var dirs []string // that are no part of a project
	for _, dir := range t.Folders(".") {
		if !f.ignores(dir) && !isPart(dir) {
			dirs = append(dirs, dir)
		}
	}

	all.sources = slices.DeleteFunc(slices.Clone(all.sources), all.isTestOfAnother)

	_, named := all.named(all.sources)
	switch {
	case named || slices.ContainsFunc(files, isProjectFile):
		return true
	case len(all.sources) > 1 || archives > 1:
		return false
	case len(dirs) > 0:
		return len(all.sources) == 0 && archives == 0 && !isWork(name) && f.arePieces(t, dirs, others > 0)
	}

	return true
}

// arePieces reports whether all directories next to no source seem to be pieces of the work of one person: their names
// say so, or there is one alone next to a file that is no source, such as a report. Other directories may be of people,
// also those in which nothing is.
func (f Finder) arePieces(t *problem.Tree, dirs []string, described bool) bool {
	if len(dirs) == 1 && described {
		return true
	}

	return slices.ContainsFunc(dirs, isWork) &&
		!slices.ContainsFunc(dirs, func(dir string) bool { return !isWork(dir) && (len(t.Below(dir)) == 0 || f.hasSource(t, dir)) })
}

// isProjectFile reports whether a file describes a project.
func isProjectFile(name string) bool {
	return slices.Contains([]string{"go.mod", "Cargo.toml", "package.json", "Makefile", "CMakeLists.txt", "pom.xml",
		"pyproject.toml"}, name)
}
