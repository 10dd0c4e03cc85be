package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// printable is s as a terminal may have it: quoted, with escapes, where it holds what is
// no character to print, such as ESC or a line feed. Names of files and labels come from
// programs and strangers; a terminal obeys what is in them
// (FIO-12, TestNamesThatATerminalObeysAreNotWritten).
func printable(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return !strconv.IsPrint(r) }) || strings.ContainsRune(s, '\uFFFD') {
		return strconv.Quote(s)
	}
	return s
}

// visible is a text with escapes, such as \x1b, in place of what is no character to print:
// ends of lines and tabs stay. A sentence may quote a submission, a test or a server's answer
// (FIO-19, TestWordsThatATerminalObeysAreNotWritten).
func visible(s string) string {
	var b strings.Builder
	done := 0 // so much of s is in b
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		end := r == '\n' || r == '\t' || r == '\r' && strings.HasPrefix(s[i+1:], "\n")
		if r == utf8.RuneError && size == 1 || !end && !strconv.IsPrint(r) {
			quoted := strconv.Quote(s[i : i+size])
			b.WriteString(s[done:i] + quoted[1:len(quoted)-1])
			done = i + size
		}
		i += size
	}
	return b.String() + s[done:]
}

// oneLine is visible without ends of lines, for a cell of a table.
func oneLine(s string) string {
	return strings.NewReplacer("\n", `\n`, "\r", `\r`, "\t", `\t`).Replace(visible(s))
}

// words passes on what is written to it as visible has it. Each call of Write has whole
// characters.
type words struct{ to io.Writer }

func (w words) Write(p []byte) (int, error) {
	if _, err := io.WriteString(w.to, visible(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// text is stdout for what brig says itself; a program's output and JSON go to stdout as they are.
func (c *console) text() io.Writer { return words{c.stdout} }

// note tells something on stderr, in a line of brig's.
func (c *console) note(format string, args ...any) {
	fmt.Fprintf(words{c.stderr}, "brig: "+format+"\n", args...)
}
