package grade

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/brig-sandbox/brig/judge/problem"
)

// A project has the files that one person handed in.
type project struct {
	person  string
	sources []string          // names of the files that are programs in a known language
	texts   map[string][]byte // of all files, by name
}

// mainNames are the usual names of the file that is run, without extension. An earlier one takes precedence.
var mainNames = []string{"main", "__main__", "solution", "sol", "submission", "program", "app", "index"}

// main chooses the source that is run.
func (p project) main(f Finder) (string, error) {
	if f.Program != "" {
		if found := withLeastDepth(p.sources,
			func(name string) bool { return path.Base(name) == f.Program }); len(found) == 1 {
			return found[0], nil
		}
	}

	candidates := without(p.sources, isNotebook)
	if f.Replaced != nil {
		candidates = without(candidates, f.Replaced)
	}

	candidates = without(candidates, isOwnTest)
	if len(candidates) == 1 {
		return candidates[0], nil
	}
	if name, ok := p.named(candidates); ok {
		return name, nil
	}

	for _, fits := range []func(string) bool{
		func(name string) bool { return problem.HasMain(p.texts[name]) },
		func(name string) bool { return !p.imported(name) },
	} {
		if found := withLeastDepth(candidates, fits); len(found) == 1 {
			return found[0], nil
		}
	}

	return "", fmt.Errorf("it has %d sources (%s), and nothing says which is the program: call it main, or name it "+
		"with --source-name", len(candidates), some(candidates))
}

// without returns the names that drop does not match; all of them if it matches all.
func without(names []string, drop func(string) bool) []string {
	left := slices.DeleteFunc(slices.Clone(names), drop)
	if len(left) == 0 {
		return names
	}
	return left
}

// named returns the source with a usual name, or with that of the person; ok is false if there is none, or more than
// one.
func (p project) named(sources []string) (name string, ok bool) {
	usual := mainNames
	if p.person != "" {
		usual = append(slices.Clone(usual), strings.ToLower(p.person))
	}
	for _, wanted := range usual {
		found := withLeastDepth(sources, func(name string) bool { return strings.ToLower(stemOf(name)) == wanted })
		if len(found) > 0 {
			return found[0], len(found) == 1
		}
	}
	return "", false
}

// withLeastDepth returns the names that fit and have the fewest directories.
func withLeastDepth(names []string, fits func(string) bool) []string {
	var found []string
	for _, name := range names {
		if !fits(name) {
			continue
		}
		if len(found) > 0 && depth(name) < depth(found[0]) {
			found = nil
		}
		if len(found) == 0 || depth(name) == depth(found[0]) {
			found = append(found, name)
		}
	}

	return found
}

func depth(name string) int { return strings.Count(name, "/") }

// stemOf is the last part of a name without its extension.
func stemOf(name string) string { return strings.TrimSuffix(path.Base(name), path.Ext(name)) }

var (
	ownTest  = compiled(`^(test_.*|.*_tests?|.*[.](test|spec)|conftest|setup|.*Tests?)$`)
	testDirs = []string{"test", "tests", "__tests__", "spec", "node_modules"}
)

// isOwnTest reports whether a file has tests that a person wrote, or configures them.
func isOwnTest(name string) bool {
	for dir := range strings.SplitSeq(path.Dir(name), "/") {
		if slices.Contains(testDirs, dir) {
			return true
		}
	}
	return ownTest().MatchString(stemOf(name))
}

// imports finds the lines with which languages name other sources.
var imports = compiled(`(?m)^.*\b(import|from|require|require_relative|include|mod|use|load|source)\b.*$`)

// imported reports whether another source of the project imports a file.
func (p project) imported(name string) bool {
	word := regexp.MustCompile(`\b` + regexp.QuoteMeta(stemOf(name)) + `\b`)
	for _, other := range p.sources {
		if other == name {
			continue
		}
		for _, line := range imports().FindAll(p.texts[other], -1) {
			if word.Match(line) {
				return true
			}
		}
	}
	return false
}
