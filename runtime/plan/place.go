package plan

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/brig-sandbox/brig/api"
)

// This file names the programs of execs. Those of one session are in one /box, and no exec may replace the program of
// another one that runs, or of processes that one has left. So a program has a place: at 0 it has the names that the
// manifest and the request say, and elsewhere names with the number of the place.

// NamesAt returns the names in /box of the program of an exec in a place: of its artifacts, or of its source. nil: the
// exec is a command.
func (p *Run) NamesAt(place int) (names []string) {
	if len(p.Built) > 0 {
		for _, f := range p.Built {
			names = append(names, programDir(place)+f.Name)
		}
		return names
	}
	for _, f := range p.Files {
		names = append(names, sourceAt(f.Name, place))
	}
	return names
}

// Movable reports whether the program of an exec may have another place than 0. The command of a language names the
// source, but it names the directory of artifacts only if its manifest has {dir}.
func (p *Run) Movable() bool {
	return len(p.Built) == 0 ||
		slices.ContainsFunc(p.program.command, func(w string) bool { return strings.Contains(w, "{dir}") })
}

// At returns the plan of an exec whose program is in a place.
func (p *Run) At(place int) *Run {
	if place == 0 {
		return p
	}

	one := *p
	names := p.NamesAt(place)
	if len(p.Built) > 0 {
		one.Built = renamed(p.Built, names)
		one.program.words.Dir = programDir(place)
	} else {
		one.Files = renamed(p.Files, names)
		one.Source = sourceAt(p.Source, place)
		one.program.words.Source = one.Source
	}

	one.setLimits(p.Limits)
	return &one
}

func renamed(files []api.File, names []string) []api.File {
	all := slices.Clone(files)
	for i := range all {
		all[i].Name = names[i]
	}
	return all
}

// programDir is the directory in /box of the artifacts in a place, with a slash at its end.
func programDir(place int) string {
	if place == 0 {
		return ""
	}
	return fmt.Sprintf(".exec-%d/", place+1)
}

// sourceAt is the name of a source in a place. It has no character that a language could not take in a module's name.
func sourceAt(name string, place int) string {
	if place == 0 {
		return name
	}
	ext := path.Ext(name)
	return fmt.Sprintf("%s_%d%s", strings.TrimSuffix(name, ext), place+1, ext)
}
