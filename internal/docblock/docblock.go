// Package docblock writes what tools have measured or made into hand-written documents.
package docblock

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"unicode/utf8"
)

// Width is the maximum length of a line of prose in the documents, in characters.
const Width = 100

// Replace puts text between the lines begin and end of a file. It wraps the prose of the text.
func Replace(name, begin, end, text string) error {
	old, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	head, rest, ok := bytes.Cut(old, []byte(begin+"\n"))
	_, tail, ok2 := bytes.Cut(rest, []byte(end))
	if !ok || !ok2 {
		return fmt.Errorf("%s has no block between %q and %q", name, begin, end)
	}
	return os.WriteFile(name, fmt.Appendf(nil, "%s%s\n%s\n%s%s", head, begin, Wrap(text), end, tail), 0o644)
}

// Check returns an error if what is between the lines begin and end of a file is not the text. If write is
// true, it replaces that first. The line begin should say how.
func Check(name, begin, end, text string, write bool) error {
	if write {
		if err := Replace(name, begin, end, text); err != nil {
			return err
		}
	}

	page, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if !bytes.Contains(page, []byte(begin+"\n"+Wrap(text)+"\n"+end)) {
		return fmt.Errorf("%s has something else below %q than is made now: write it anew", name, begin)
	}
	return nil
}

// Wrap breaks lines of prose that are longer than Width. It does not change rows of tables.
func Wrap(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if !strings.HasPrefix(line, "|") && utf8.RuneCountInString(line) > Width {
			lines[i] = wrapLine(line)
		}
	}
	return strings.Join(lines, "\n")
}

func wrapLine(line string) string {
	var b strings.Builder
	column := 0
	for i, word := range strings.Fields(line) {
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case column+1+n > Width:
			b.WriteByte('\n')
			column = 0
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += n
	}

	return b.String()
}
