package messages

import (
	"cmp"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/brig-sandbox/brig/api"
)

// How much of one stream is searched, and how much of it a diagnosis contains, in bytes.
const (
	window     = 64 << 10 // at the start and at the end of a stream
	maxLine    = 4 << 10
	maxErrors  = 100
	maxType    = 128
	maxMessage = 1024
	maxHint    = 256
)

// A Text is the output of a program as lines of valid UTF-8.
type Text struct{ lines []string }

// NewText reads the start and the end of each of the streams.
func NewText(streams ...[]byte) *Text {
	t := &Text{}
	for _, s := range streams {
		if len(s) <= 2*window {
			t.add(s)
			continue
		}
		t.add(s[:window])
		t.add(s[len(s)-window:])
	}
	return t
}

func (t *Text) add(stream []byte) {
	for line := range strings.SplitSeq(string(stream), "\n") {
		line = strings.TrimSuffix(line[:min(len(line), maxLine)], "\r")
		t.lines = append(t.lines, strings.ToValidUTF8(line, "?"))
	}
}

// line returns line i, or "" if there is no such line.
func (t *Text) line(i int) string {
	if i < 0 || i >= len(t.lines) {
		return ""
	}
	return t.lines[i]
}

// Contains reports whether a line of the text contains words.
func (t *Text) Contains(words string) bool {
	return slices.ContainsFunc(t.lines, func(line string) bool { return strings.Contains(line, words) })
}

// Last returns the last line that is not empty.
func (t *Text) Last() string {
	for i := len(t.lines) - 1; i >= 0; i-- {
		if s := strings.TrimSpace(t.lines[i]); s != "" {
			return s
		}
	}
	return ""
}

// OwnFile returns the name below /box of one of the program's own files, and "" for a library's
// file or for anything that is no file name.
func OwnFile(name string) string {
	name, inBox := strings.CutPrefix(strings.TrimPrefix(name, "file://"), "/box/")
	name = path.Clean(name)
	if !inBox && (strings.ContainsAny(name, ":<>()") || strings.Contains(name, "  ")) || api.FileName(name) != nil ||
		plain(name, len(name)) != name {
		return ""
	}
	return name
}

// A place is a position in a source file, as named by a tool.
type place struct {
	file         string // one of the program's own files; "" for none
	line, column int
}

func (p place) in(d api.Diagnosis) api.Diagnosis {
	if p.file != "" {
		d.File, d.Line, d.Column = p.file, p.line, p.column
	}
	return d
}

// colons parses FILE:LINE: or FILE:LINE:COLUMN: at the start of s, and returns the rest of s.
func colons(s string) (p place, rest string, ok bool) {
	file, rest, ok := strings.Cut(s, ":")
	if !ok || file == "" {
		return p, "", false
	}

	n, after := number(rest)
	if n == 0 {
		return p, "", false
	}

	p = place{OwnFile(file), n, 0}
	if m, further := number(strings.TrimPrefix(after, ":")); m > 0 && strings.HasPrefix(after, ":") {
		p.column, after = m, further
	}
	return p, strings.TrimSpace(strings.TrimPrefix(after, ":")), true
}

// brackets parses FILE(LINE,COLUMN) or FILE(LINE) at the start of s, and returns the rest of s.
func brackets(s string) (p place, rest string, ok bool) {
	file, rest, ok := strings.Cut(s, "(")
	n, rest := number(rest)
	if !ok || file == "" || n == 0 {
		return p, "", false
	}
	p = place{OwnFile(file), n, 0}
	if after, more := strings.CutPrefix(rest, ","); more {
		p.column, rest = number(after)
	}
	rest, ok = strings.CutPrefix(rest, ")")
	return p, strings.TrimSpace(strings.TrimPrefix(rest, ":")), ok
}

// number parses a decimal number at the start of s. It returns zero if there is none, or if the
// number is too large for a line number.
func number(s string) (n int, rest string) {
	i := 0
	for ; i < len(s) && i < 9 && s[i] >= '0' && s[i] <= '9'; i++ {
		n = 10*n + int(s[i]-'0')
	}
	if i == 9 {
		return 0, s
	}
	return n, s[i:]
}

// quoted returns the first text of s that is between quotes, such as a name.
func quoted(s string) string {
	for i, c := range s {
		if end, ok := quotes[c]; ok {
			rest := s[i+utf8.RuneLen(c):]
			if n := strings.IndexAny(rest[:min(len(rest), 80)], end); n >= 0 {
				return strings.ToValidUTF8(rest[:n], "")
			}
		}
	}
	return ""
}

var quotes = map[rune]string{'\'': "'", '"': `"`, '`': "'`", '‘': "’", '“': "”"}

// between returns the part of s between the marks after and before.
func between(s, after, before string) (string, bool) {
	_, s, ok := strings.Cut(s, after)
	if !ok {
		return "", false
	}
	s, _, ok = strings.Cut(s, before)
	return s, ok
}

// isName reports whether s could be the name of a type: a letter or underscore, then letters,
// digits, underscores and separators.
func isName(s string) bool {
	for i, c := range s {
		if !unicode.IsLetter(c) && c != '_' && (i == 0 || !unicode.IsDigit(c) && !strings.ContainsRune(".:$", c)) {
			return false
		}
	}
	return s != "" && len(s) <= maxType
}

// Bounded makes every field printable and limits its length. A line without a file is no place.
func Bounded(d api.Diagnosis) api.Diagnosis {
	d.Type, d.Message, d.Hint = plain(d.Type, maxType), plain(d.Message, maxMessage), plain(d.Hint, maxHint)
	d.Type = cmp.Or(d.Type, "error")
	d.Message = cmp.Or(strings.TrimSuffix(d.Message, ":"), d.Type)
	if d.Category == "" {
		d.Category = api.CategoryRuntime
	}
	if d.File == "" {
		d.Line, d.Column = 0, 0
	}
	return d
}

// plain makes s one line of printable text and limits it to maximum bytes.
func plain(s string, maximum int) string {
	s = strings.TrimSpace(strings.Map(func(c rune) rune {
		if c == '\t' || !unicode.IsPrint(c) && !unicode.IsSpace(c) {
			return ' '
		}
		if unicode.IsSpace(c) {
			return ' '
		}
		return c
	}, strings.ToValidUTF8(s, "?")))
	if len(s) <= maximum {
		return s
	}

	const dots = "..."
	s = s[:maximum-len(dots)]
	for !utf8.ValidString(s) {
		s = s[:len(s)-1]
	}
	return s + dots
}
