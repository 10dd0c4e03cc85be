package archtest

import (
	"fmt"
	"path"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

const width = 100 // characters of a line of prose

// An unbreakable line is one word, such as a path, or one link; both may be items of a list.
var unbreakable = regexp.MustCompile(`^\s*([-*] )?(\S+|!?\[[^\]]*\]\(\S+\)\S?)$`)

// Prose of documents is wrapped. Tables, code and lines of one link or path are not.
func TestDocumentsAreWrapped(t *testing.T) {
	documents := 0
	eachFile(t, func(name string, text []byte) {
		if path.Ext(name) != ".md" {
			return
		}
		documents++
		for _, line := range wideLines(string(text)) {
			t.Errorf("%s:%s: break it after at most %d characters", name, line, width)
		}
	})

	if documents < 40 {
		t.Errorf("only %d documents were read: this test looks in the wrong place", documents)
	}
}

// The control: the check finds long prose, and only prose.
func TestWideLinesAreFound(t *testing.T) {
	long := strings.Repeat("word ", 20) + "é"      // 101 characters
	exact := strings.Repeat("wörd ", 19) + "wörd." // 100 characters, in more bytes
	address := "https://example.org/" + strings.Repeat("x", 100)
	for text, want := range map[string]int{
		long: 1, "- " + long: 1, "# " + long: 1, "<!-- a -->\n" + long: 1, "```\ncode\n```\n" + long: 1,
		"see [this](" + address + ")": 1,
		exact:                         0, "| " + long + " |": 0, "```\n" + long + "\n```": 0, "  ```sh\n" + long + "\n  ```": 0,
		"- " + address: 0, "[" + long + "](" + address + ").": 0, "![" + long + "](a.svg)": 0,
	} {
		if got := wideLines(text); len(got) != want {
			t.Errorf("%q: %d found; want %d", text, len(got), want)
		}
	}
}

// wideLines returns the number and the beginning of each line that is too long.
func wideLines(text string) (found []string) {
	code := false
	for i, line := range strings.Split(text, "\n") {
		start := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(start, "```"):
			code = !code
		case code, strings.HasPrefix(start, "|"), unbreakable.MatchString(line):
		case utf8.RuneCountInString(line) > width:
			found = append(found, fmt.Sprintf("%d: %.40s...", i+1, start))
		}
	}
	return found
}
