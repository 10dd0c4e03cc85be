// Package terminal makes text safe for a terminal, which obeys control characters.
package terminal

import (
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Quote returns s in a form that is safe on a terminal: quoted, with escapes, if it contains
// unprintable characters such as ESC or a line feed. Names of files and labels come from programs
// and strangers, and a terminal obeys control characters in them
// (FIO-12, TestNamesThatATerminalObeysAreNotWritten).
func Quote(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return !strconv.IsPrint(r) }) || strings.ContainsRune(s, '\uFFFD') {
		return strconv.Quote(s)
	}
	return s
}

// Escape returns s with escapes, such as \x1b, in place of unprintable characters; line ends and
// tabs stay. A message may quote a submission, a test or a server's answer
// (FIO-19, TestWordsThatATerminalObeysAreNotWritten).
func Escape(s string) string {
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

// OneLine is Escape that escapes line ends and tabs too, for a cell of a table.
func OneLine(s string) string {
	return strings.NewReplacer("\n", `\n`, "\r", `\r`, "\t", `\t`).Replace(Escape(s))
}

// Writer forwards what is written to it through Escape. Each call of Write must have whole
// characters.
type Writer struct{ To io.Writer }

func (w Writer) Write(p []byte) (int, error) {
	if _, err := io.WriteString(w.To, Escape(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}
