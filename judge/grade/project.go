package grade

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/brig-sandbox/brig/api"
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

	candidates := without(without(p.sources, isReport), isNotebook)
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

	lines := sync.OnceValue(p.importLines)
	for _, fits := range []func(string) bool{
		func(name string) bool { return problem.HasMain(p.beginning(name)) },
		func(name string) bool { return !imported(name, lines()) },
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

// runnerExts are the extensions of the files in which pytest, jest, JUnit and Pester look for cases.
var runnerExts = []string{".py", ".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx", ".java", ".ps1"}

// WithoutOwnTests returns the files of a submission without the tests that the person wrote: a runner of unit tests
// would run them, too, and they would count as much as the cases of the teacher. Tests that the program imports stay.
func (s Submission) WithoutOwnTests() []api.File {
	all := project{sources: []string{s.Main}, texts: map[string][]byte{s.Main: s.Text}}
	ownCases := func(f api.File) bool {
		return isOwnTest(f.Name) && stemOf(f.Name) != "setup" && slices.Contains(runnerExts, path.Ext(f.Name))
	}
	for _, f := range s.Files {
		if !ownCases(f) {
			all.sources, all.texts[f.Name] = append(all.sources, f.Name), f.Content
		}
	}

	lines := all.importLines()
	return slices.DeleteFunc(slices.Clone(s.Files),
		func(f api.File) bool { return ownCases(f) && !imported(f.Name, lines) })
}

// affixes are what the names of own tests have in addition to the name of what they test.
var affixes = compiled(`^test_|_tests?$|[.](test|spec)$|Tests?$`)

// isTestOfAnother reports whether a file has the tests of another source, as test_shapes.py of shapes.py, or
// configures tests. Such a file is not the work of a second person, as test_bob.py next to ann.py may be.
func (p project) isTestOfAnother(name string) bool {
	if !isOwnTest(name) {
		return false
	}
	if stem := stemOf(name); stem == "conftest" || stem == "setup" {
		return len(p.sources) > 1
	}

	tested := affixes().ReplaceAllString(stemOf(name), "")
	return slices.ContainsFunc(p.sources, func(other string) bool { return other != name && stemOf(other) == tested })
}

// imports are the words with which languages name other sources.
var imports = compiled(`\b(import|from|require|require_relative|include|mod|use|load|source)\b`)

// How many bytes of a project are searched for its program: of all sources together, and of their lines with the words
// of imports. 32 MiB in 20 files took five minutes, and in 4,000 files hours (TestSubmissionsAreReadInLittleTime).
const (
	maxSearched = 2 << 20
	maxImports  = 256 << 10
)

// beginning is the text of a source, or the beginning of it that is its part of maxSearched.
func (p project) beginning(source string) []byte {
	text := p.texts[source]
	return text[:min(len(text), maxSearched/len(p.sources))]
}

// importLines are the lines that name other sources, by the source in which they are.
func (p project) importLines() map[string][]byte {
	all := map[string][]byte{}
	left := maxImports
	for _, name := range p.sources {
		text := p.beginning(name)
		for len(text) > 0 && left > 0 {
			at := imports().FindIndex(text)
			if at == nil {
				break
			}

			begin := bytes.LastIndexByte(text[:at[0]], '\n') + 1
			end := len(text)
			if n := bytes.IndexByte(text[at[1]:], '\n'); n >= 0 {
				end = at[1] + n + 1
			}

			line := text[begin:min(end, begin+left)]
			all[name] = append(all[name], line...)
			left -= len(line)
			text = text[end:]
		}
	}

	return all
}

// imported reports whether another source names a file in its lines.
func imported(name string, lines map[string][]byte) bool {
	for other, text := range lines {
		if other != name && hasWord(text, []byte(stemOf(name))) {
			return true
		}
	}
	return false
}

// hasWord reports whether a text has a word that is not a part of a longer one.
func hasWord(text, word []byte) bool {
	for from := 0; len(word) > 0; {
		at := bytes.Index(text[from:], word)
		if at < 0 {
			return false
		}

		at += from
		end := at + len(word)
		inLonger := at > 0 && isWordByte(text[at-1]) && isWordByte(word[0]) ||
			end < len(text) && isWordByte(text[end]) && isWordByte(word[len(word)-1])
		if !inLonger {
			return true
		}
		from = at + 1
	}

	return false
}

func isWordByte(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}
