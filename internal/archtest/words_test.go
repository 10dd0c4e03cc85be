package archtest

import (
	"cmp"
	"fmt"
	"go/scanner"
	"go/token"
	"iter"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// retired are words that brig does not use, each with what to write instead. docs/glossary.md has
// the terms. A word here is also found as a part of an identifier and of a file's name.
var retired = map[string]string{
	"berth":    "keeper",
	"obituary": "tombstone",
	"buried":   "destroyed",
	"bury":     "destroy",
	"burial":   "destruction",
	"furnish":  "place files",
	"tongue":   "language",
	"tongues":  "languages",
	"misfit":   "decode error",
	"gist":     "summary",
	"ledger":   "owners, account",
	"whoever":  "the caller, the process, ...",
	"mend":     "fix",
	"mended":   "fixed",
	"mends":    "fixes",
	"he":       "name the process, key or caller",
	"his":      "its",
	"him":      "it",
	"hasten":   "expedite",
}

// retiredNames are ordinary English words that say nothing as the name of a thing. They are looked
// for in the names of files, and in the identifiers of Go: a sentence may use a line feed, a spare
// user or a path that climbs, and Go's parser says which is which.
//
// Of the words that brig once gave a meaning of its own, these are not here, because what is left of
// them is what everybody means by them: near, ends, parts and stall (an HTTP request stalls), carry
// (of an addition; a request is carried out), who (a user who ...), and past in a longer name (a
// past run). VisitAll of pflag and visit_* of Python's ast are other people's names.
var retiredNames = map[string]string{
	"settle":  "finish, destroy, become stable",
	"settled": "stable, finished",
	"seat":    "slot state",
	"seats":   "slot states",
	"stray":   "misplaced, foreign",
	"strays":  "misplaced, foreign",
	"doors":   "routes, requests",
	"climb":   "escape from a directory",
	"climbs":  "escapes from a directory",
	"coming":  "upload, incoming",
	"slip":    "mistake",
	"spare":   "free, idle",
	"spares":  "free, idle",
	"feed":    "copy, write",
	"feeds":   "copies, writes",
	"visit":   "execute, or a function's name",
	"beside":  "next to",
}

// wholeNames are retired as a complete identifier or file name only.
var wholeNames = map[string]string{"past": "history, retention"}

// othersNames are identifiers of libraries that have a retired word.
var othersNames = []string{"Visit", "VisitAll"} // of pflag

// Phrases that have no subject a reader could name.
var retiredPhrases = map[string]*regexp.Regexp{
	`"is had": write "gets", "has"`:                         regexp.MustCompile(`(?i)\b(is|are|be) had\b`),
	`"beside": write "next to", "in addition to"`:           regexp.MustCompile(`(?i)\bbeside\b`),
	`"is told": write who reports it to which reader`:       regexp.MustCompile(`(?i)\b(is|are|be) told\b`),
	`"is promised": write "reserved", "guaranteed"`:         regexp.MustCompile(`(?i)\b(is|are|was|were) promised\b`),
	`a bare "who": write "the user that", "which key", ...`: regexp.MustCompile(`\bWho(m|se)? [a-z]|(?i)(^|[^\w ,] ?|\b(of|by|to|for|from|with|says|knows|decides|is|not|and|or|but|if|than|that) )who (may|is|has|can|only|gives|reads|holds|uses|does)\b`),
}

var (
	parts = regexp.MustCompile(`[A-Z]?[a-z]+|[A-Z]+`)
	// Test data and generated text hold other people's words. Scripts of commands are brig's own.
	notOurs = regexp.MustCompile(`(^|/)testdata/[^s]|^seccomp/.*_table\.go$|\.golden$|^judge/check/checker\.py$`)
)

// Words that only brig's authors used are found by no search of a newcomer.
func TestRetiredWordsAreGone(t *testing.T) {
	for place, advice := range retiredIn(t, trackedText(t)) {
		t.Errorf("%s: %s", place, advice)
	}
}

// The control: the check finds a word, a part of a name, a phrase and the name of a file.
func TestRetiredWordsAreFound(t *testing.T) {
	for text, want := range map[string]int{
		"// a berth": 1, "func newBerth() {}": 1, "the slot is had by it": 1, "beside it": 1,
		"the shelf, this, here, hers, registry":           0,
		"func settle() {}":                                1,
		"type seatState int":                              1,
		"// a spare user\nx := \"a line feed\"":           0,
		"f.VisitAll(nil)":                                 0,
		"past := 1":                                       1,
		"pastRuns := 1":                                   0,
		"the caller is told why":                          1,
		"memory is promised":                              1,
		"// Who may use it: root":                         1,
		"it says who may use it":                          1,
		"// a user who may use it":                        0,
		"a service, by the holder of a key who has asked": 0,
	} {
		if got := len(retiredIn(t, map[string]string{"x.go": text})); got != want {
			t.Errorf("%q: %d found; want %d", text, got, want)
		}
	}

	for name, want := range map[string]int{
		"docs/adr/0005-before-burial.md": 1, "a/testdata/script/stray.txtar": 1, "service/past.go": 1,
		"docs/spare_parts.md": 1, "service/stall_timer.go": 0, "runtime/session/feedback.go": 0,
	} {
		if got := len(retiredIn(t, map[string]string{name: ""})); got != want {
			t.Errorf("%s: %d found; want %d", name, got, want)
		}
	}
}

// trackedText returns the files of the repository by name. The text of those that have other
// people's words is empty: only their names are checked.
func trackedText(t *testing.T) map[string]string {
	t.Helper()
	out, err := exec.Command("git", "-C", "../..", "ls-files").Output()
	if err != nil {
		t.Fatal(err)
	}

	all, read := map[string]string{}, 0
	for name := range strings.FieldsSeq(string(out)) {
		if name == "internal/archtest/words_test.go" {
			continue
		}

		all[name] = ""
		switch path.Ext(name) {
		case ".go", ".c", ".h", ".md", ".txtar", ".py", ".js", ".yaml", ".yml", "":
		default:
			continue
		}

		if notOurs.MatchString(name) {
			continue
		}

		text, err := os.ReadFile(path.Join("../..", name))
		if err != nil {
			t.Fatal(err)
		}

		all[name], read = string(text), read+1
	}

	if read < 500 {
		t.Fatalf("only %d files were read", read)
	}
	return all
}

func retiredIn(t *testing.T, files map[string]string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for name, text := range files {
		if bad := retiredName(strings.TrimSuffix(path.Base(name), path.Ext(name))); bad != "" {
			found[name] = "the file's name: " + bad
		}

		for i, line := range strings.Split(text, "\n") {
			place := fmt.Sprintf("%s:%d", name, i+1)
			for _, w := range parts.FindAllString(line, -1) {
				if use, ok := retired[strings.ToLower(w)]; ok {
					found[place] = fmt.Sprintf("%q: write %s", w, use)
				}
			}
			for advice, p := range retiredPhrases {
				if p.MatchString(line) {
					found[place] = advice
				}
			}
		}

		if path.Ext(name) == ".go" {
			for line, identifier := range identifiers(text) {
				if bad := retiredName(identifier); bad != "" && !slices.Contains(othersNames, identifier) {
					found[fmt.Sprintf("%s:%d", name, line)] = identifier + ": " + bad
				}
			}
		}
	}

	return found
}

// retiredName says what is wrong with a name; empty if nothing is.
func retiredName(name string) string {
	if use, ok := wholeNames[strings.ToLower(name)]; ok {
		return fmt.Sprintf("%q: write %s", name, use)
	}
	for _, w := range parts.FindAllString(name, -1) {
		w = strings.ToLower(w)
		if use := cmp.Or(retiredNames[w], retired[w]); use != "" {
			return fmt.Sprintf("%q: write %s", w, use)
		}
	}
	return ""
}

// identifiers yields the identifiers of a Go file with their lines.
func identifiers(text string) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		set := token.NewFileSet()
		file := set.AddFile("", -1, len(text))
		var s scanner.Scanner
		s.Init(file, []byte(text), nil, 0)
		for {
			pos, tok, identifier := s.Scan()
			if tok == token.EOF || tok == token.IDENT && !yield(file.Line(pos), identifier) {
				return
			}
		}
	}
}
