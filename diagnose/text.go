package diagnose

import (
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/brig-sandbox/brig/api"
)

// What is looked at of one stream, and what a diagnosis carries of it.
const (
	window     = 64 << 10 // of the start and of the end
	maxLine    = 4 << 10
	maxErrors  = 100
	maxType    = 128
	maxMessage = 1024
	maxHint    = 256
)

// A text is what was printed, as lines of valid UTF-8.
type text struct{ lines []string }

func newText(streams ...[]byte) *text {
	t := &text{}
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

func (t *text) add(stream []byte) {
	for line := range strings.SplitSeq(string(stream), "\n") {
		line = strings.TrimSuffix(line[:min(len(line), maxLine)], "\r")
		t.lines = append(t.lines, strings.ToValidUTF8(line, "?"))
	}
}

// line gives line i, or nothing beyond the end.
func (t *text) line(i int) string {
	if i < 0 || i >= len(t.lines) {
		return ""
	}
	return t.lines[i]
}

// last gives the last line that is not empty.
func (t *text) last() string {
	for i := len(t.lines) - 1; i >= 0; i-- {
		if s := strings.TrimSpace(t.lines[i]); s != "" {
			return s
		}
	}
	return ""
}

// ownFile gives the name below /box of a file of the program's own, and "" for a
// library's or what is no file's name.
func ownFile(name string) string {
	name, inBox := strings.CutPrefix(strings.TrimPrefix(name, "file://"), "/box/")
	name = path.Clean(name)
	if !inBox && (strings.ContainsAny(name, ":<>()") || strings.Contains(name, "  ")) || api.FileName(name) != nil || plain(name, len(name)) != name {
		return ""
	}
	return name
}

// A place is where a tool says something is.
type place struct {
	file         string // the program's own; "" for none
	line, column int
}

func (p place) in(d api.Diagnosis) api.Diagnosis {
	if p.file != "" {
		d.File, d.Line, d.Column = p.file, p.line, p.column
	}
	return d
}

// colons reads FILE:LINE: or FILE:LINE:COLUMN: at the start of s, and gives what
// follows it.
func colons(s string) (p place, rest string, ok bool) {
	file, rest, ok := strings.Cut(s, ":")
	if !ok || file == "" {
		return p, "", false
	}
	n, after := number(rest)
	if n == 0 {
		return p, "", false
	}
	p = place{ownFile(file), n, 0}
	if m, further := number(strings.TrimPrefix(after, ":")); m > 0 && strings.HasPrefix(after, ":") {
		p.column, after = m, further
	}
	return p, strings.TrimSpace(strings.TrimPrefix(after, ":")), true
}

// brackets reads FILE(LINE,COLUMN) or FILE(LINE) at the start of s, and gives what
// follows it.
func brackets(s string) (p place, rest string, ok bool) {
	file, rest, ok := strings.Cut(s, "(")
	n, rest := number(rest)
	if !ok || file == "" || n == 0 {
		return p, "", false
	}
	p = place{ownFile(file), n, 0}
	if after, more := strings.CutPrefix(rest, ","); more {
		p.column, rest = number(after)
	}
	rest, ok = strings.CutPrefix(rest, ")")
	return p, strings.TrimSpace(strings.TrimPrefix(rest, ":")), ok
}

// number reads a decimal number at the start of s; zero where there is none, or
// one that no line of a program has.
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

// quoted gives the first words of s that stand between quotes, such as a name.
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

// between gives what stands in s after one mark and before another.
func between(s, after, before string) (string, bool) {
	_, s, ok := strings.Cut(s, after)
	if !ok {
		return "", false
	}
	s, _, ok = strings.Cut(s, before)
	return s, ok
}

// isName reports whether s could be a type's name: a letter, then letters, digits,
// and what joins them.
func isName(s string) bool {
	for i, c := range s {
		if !unicode.IsLetter(c) && c != '_' && (i == 0 || !unicode.IsDigit(c) && !strings.ContainsRune(".:$", c)) {
			return false
		}
	}
	return s != "" && len(s) <= maxType
}

// bounded makes every field fit to be shown.
func bounded(d api.Diagnosis) api.Diagnosis {
	d.Type, d.Message, d.Hint = plain(d.Type, maxType), plain(d.Message, maxMessage), plain(d.Hint, maxHint)
	d.Type = orWords(d.Type, "error")
	d.Message = orWords(strings.TrimSuffix(d.Message, ":"), d.Type)
	if d.Category == "" {
		d.Category = api.CategoryRuntime
	}
	return d
}

// plain makes s one line of printable text of at most the given bytes.
func plain(s string, most int) string {
	s = strings.TrimSpace(strings.Map(func(c rune) rune {
		if c == '\t' || !unicode.IsPrint(c) && !unicode.IsSpace(c) {
			return ' '
		}
		if unicode.IsSpace(c) {
			return ' '
		}
		return c
	}, strings.ToValidUTF8(s, "?")))
	if len(s) <= most {
		return s
	}
	const dots = "..."
	s = s[:most-len(dots)]
	for !utf8.ValidString(s) {
		s = s[:len(s)-1]
	}
	return s + dots
}
