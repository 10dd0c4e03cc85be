package check

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/judge/diagnose"
)

const (
	maxLine    = 4 << 10 // of a checker's output
	maxSnippet = 160
	maxMessage = 300
)

// Read turns the output of a run of Plan into findings, sorted and limited in number. Whatever
// the output is, a finding has a known rule, and a line that exists in the source with its text.
func Read(language, name string, source []byte, r api.Result) []api.Finding {
	s := newSource(fileName(language, name), source)
	var found []api.Finding
	finished := r.Verdict == api.OK || r.Verdict == api.Nonzero
	if checkers[plainLanguage(language)].program != "" {
		var done bool
		found, done = s.lines(r.Stdout)
		finished = finished && done
	} else if finished {
		placed := placedName(language, name, source)
		found = s.compiler(language, placed, append(bytes.Clone(r.Stdout), r.Stderr...), r.Verdict)
		// BEGIN { exit 0 } ends Perl's parser with success before it has read the rest of the
		// source, so the parser's last line must be there. A source that prints that line itself
		// is believed.
		end := strings.ReplaceAll(checkers[plainLanguage(language)].end, "{name}", placed)
		finished = r.Verdict != api.OK || bytes.HasSuffix(bytes.TrimRight(r.Stderr, "\n"), []byte(end))
	}

	if !finished {
		found = append(found, s.finding("not-checked", 0, 0, endReason(r)))
	}
	return normalize(found)
}

func endReason(r api.Result) string {
	if d := diagnose.Explain("", "", nil, r); d != nil {
		return fmt.Sprintf("the checker ended with %s: %s", r.Verdict, d.Message)
	}
	return "the checker did not finish"
}

// A checkerLine is one line of output of checker.py or checker.js.
type checkerLine struct {
	Rule   string `json:"rule"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
	Name   string `json:"name"`
	Done   bool   `json:"done"` // the last line: the checker has finished
}

// lines parses JSON lines. It skips other lines, and those that do not name a rule of a checker.
func (s *source) lines(stdout []byte) (found []api.Finding, done bool) {
	for line := range bytes.Lines(stdout) {
		var t checkerLine
		if len(found) == 10*MaxFindings {
			break
		}
		done = false
		if len(line) > maxLine || json.Unmarshal(line, &t) != nil {
			continue
		}
		done = t.Done
		if _, known := rules[t.Rule]; known && !secretRules[t.Rule] {
			found = append(found, s.finding(t.Rule, t.Line, t.Column, t.Name))
		}
	}

	return found, done
}

// compiler turns the errors that package diagnose finds in a compiler's output into findings.
// placed is the file with the source.
func (s *source) compiler(language, placed string, output []byte, v api.Verdict) []api.Finding {
	var found []api.Finding
	for _, d := range diagnose.Errors(language, output) {
		rule := "compile"
		switch {
		case d.File != "" && d.File != placed: // of an included file
			continue
		case d.Category == api.CategorySyntax:
			rule = "syntax"
		case d.Category == api.CategoryImport:
			rule = "import"
		}
		f := s.finding(rule, d.Line, d.Column, d.Message)
		found = append(found, f)
	}

	if len(found) == 0 && v != api.OK {
		found = append(found, s.finding("compile", 0, 0, lastLine(output)))
	}
	return found
}

func lastLine(output []byte) string {
	lines := bytes.Split(bytes.TrimSpace(output[max(0, len(output)-maxLine):]), []byte("\n"))
	if last := string(lines[len(lines)-1]); last != "" {
		return last
	}
	return "the checker rejects it"
}

// A source is the text that findings are about.
type source struct {
	name     string
	text     []byte
	lineEnds []int // end of each line, without the newline
}

func newSource(name string, text []byte) *source {
	s := &source{name: name, text: text}
	for i, c := range text {
		if c == '\n' {
			s.lineEnds = append(s.lineEnds, i)
		}
	}
	s.lineEnds = append(s.lineEnds, len(text))
	return s
}

// line returns line n, counted from 1.
func (s *source) line(n int) []byte {
	begin := 0
	if n > 1 {
		begin = s.lineEnds[n-2] + 1
	}
	return s.text[begin:s.lineEnds[n-1]]
}

// finding makes a finding with the text of its line. A position outside of the source is omitted.
func (s *source) finding(id string, line, column int, name string) api.Finding {
	r := rules[id]
	f := api.Finding{Severity: r.severity, Rule: id, File: s.name, Message: r.message}
	if strings.Contains(r.message, "%s") {
		f.Message = fmt.Sprintf(r.message, name)
	}
	if f.Message = printableLine(f.Message, maxMessage); f.Message == "" {
		f.Message = id
	}
	if line < 1 || line > len(s.lineEnds) {
		return f
	}

	text := s.line(line)
	f.Line, f.Snippet = line, printableLine(string(text[:min(len(text), 8*maxSnippet)]), maxSnippet)
	if column >= 1 && column <= len(text)+1 {
		f.Column = column
	}
	return f
}

// printableLine makes s one line of printable text of at most the given bytes.
func printableLine(s string, maximum int) string {
	s = strings.TrimSpace(strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) {
			return ' '
		}
		return c
	}, strings.ToValidUTF8(s, "?")))
	if len(s) <= maximum {
		return s
	}

	const dots = "..."
	for s = s[:maximum-len(dots)]; !utf8.ValidString(s); s = s[:len(s)-1] {
	}
	return s + dots
}
