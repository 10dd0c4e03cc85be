package archtest

import (
	"fmt"
	"os"
	"os/exec"
	"path"
	"regexp"
	"strings"
	"testing"
)

// retired are words that brig does not use, each with what to write instead. docs/glossary.md has
// the terms. A word here is also found as a part of an identifier.
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

// Phrases that have no subject a reader could name.
var retiredPhrases = map[string]*regexp.Regexp{
	`"is had": write "gets", "has"`:               regexp.MustCompile(`(?i)\b(is|are|be) had\b`),
	`"beside": write "next to", "in addition to"`: regexp.MustCompile(`(?i)\bbeside\b`),
}

var (
	parts = regexp.MustCompile(`[A-Z]?[a-z]+|[A-Z]+`)
	// Test data and generated text hold other people's words.
	notOurs = regexp.MustCompile(`(^|/)testdata/|^corpus/cases/|^docs/twenty-changes\.md$|^seccomp/.*_table\.go$|\.golden$|^check/checker\.py$|^e2e/testdata`)
)

// Words that only brig's authors used are found by no search of a newcomer.
func TestRetiredWordsAreGone(t *testing.T) {
	for place, advice := range retiredIn(t, trackedText(t)) {
		t.Errorf("%s: %s", place, advice)
	}
}

// The control: the check finds a word, a part of a name, and a phrase.
func TestRetiredWordsAreFound(t *testing.T) {
	for text, want := range map[string]int{
		"// a berth": 1, "func newBerth() {}": 1, "the slot is had by it": 1, "beside it": 1,
		"the shelf, this, here, hers, registry": 0,
	} {
		if got := len(retiredIn(t, map[string]string{"x.go": text})); got != want {
			t.Errorf("%q: %d found; want %d", text, got, want)
		}
	}
}

func trackedText(t *testing.T) map[string]string {
	t.Helper()
	out, err := exec.Command("git", "-C", "../..", "ls-files").Output()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for name := range strings.FieldsSeq(string(out)) {
		switch path.Ext(name) {
		case ".go", ".c", ".h", ".md", ".txtar", ".py", ".yaml", ".yml", "":
		default:
			continue
		}
		if notOurs.MatchString(name) || name == "internal/archtest/words_test.go" {
			continue
		}
		text, err := os.ReadFile(path.Join("../..", name))
		if err != nil {
			t.Fatal(err)
		}
		all[name] = string(text)
	}
	if len(all) < 500 {
		t.Fatalf("only %d files were read", len(all))
	}
	return all
}

func retiredIn(t *testing.T, files map[string]string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for name, text := range files {
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
	}
	return found
}
