package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// quoteUnprintable returns s in a form that is safe on a terminal: quoted, with escapes, if it contains
// unprintable characters such as ESC or a line feed. Names of files and labels come from programs
// and strangers, and a terminal obeys control characters in them
// (FIO-12, TestNamesThatATerminalObeysAreNotWritten).
func quoteUnprintable(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return !strconv.IsPrint(r) }) || strings.ContainsRune(s, '\uFFFD') {
		return strconv.Quote(s)
	}
	return s
}

// escapeControls returns s with escapes, such as \x1b, in place of unprintable characters; line ends and
// tabs stay. A message may quote a submission, a test or a server's answer
// (FIO-19, TestWordsThatATerminalObeysAreNotWritten).
func escapeControls(s string) string {
	var b strings.Builder
	done := 0 // bytes of s that are in b
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

// oneLine is visible that escapes line ends and tabs too, for a cell of a table.
func oneLine(s string) string {
	return strings.NewReplacer("\n", `\n`, "\r", `\r`, "\t", `\t`).Replace(escapeControls(s))
}

// escapeWriter forwards what is written to it through visible. Each call of Write must have whole
// characters.
type escapeWriter struct{ to io.Writer }

func (w escapeWriter) Write(p []byte) (int, error) {
	if _, err := io.WriteString(w.to, escapeControls(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// text is stdout for brig's own messages. A program's output and JSON go to stdout unchanged.
func (c *cli) text() io.Writer { return escapeWriter{c.stdout} }

// note prints a message of brig on stderr.
func (c *cli) note(format string, args ...any) {
	fmt.Fprintf(escapeWriter{c.stderr}, "brig: "+format+"\n", args...)
}
