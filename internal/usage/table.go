package usage

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Table returns the flags that are not hidden, or those of names alone, as a table in Markdown: a row for
// each, in the order of --help. The column of defaults is left out if there are none.
func (p Page) Table(names ...string) string {
	var rows []tableRow
	for _, part := range p.parts() {
		for _, f := range part.flags() {
			if len(names) == 0 || slices.Contains(names, f.name) {
				rows = append(rows, rowOf(f))
			}
		}
	}

	defaults := slices.ContainsFunc(rows, func(r tableRow) bool { return r.standard != "" })
	head := tableRow{"flag", "default", "meaning"}
	lines := []string{head.line(defaults), tableRow{"---", "---", "---"}.line(defaults)}
	for _, r := range rows {
		lines = append(lines, r.line(defaults))
	}

	return strings.Join(lines, "\n")
}

// A tableRow is the row of a flag.
type tableRow struct{ flag, standard, meaning string }

// withDefault matches a help that ends in its default, as pflag writes it or we do: (default 10m0s),
// (default: none), or (repeatable; default: any host).
var withDefault = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(.*) \((?:([^()]*); )?default:? ([^()]+)\)$`)
})

func rowOf(f flag) tableRow {
	r := tableRow{flag: "`" + f.synopsis() + "`", meaning: f.text}
	if m := withDefault().FindStringSubmatch(f.text); m != nil {
		r.meaning, r.standard = m[1], shortSpan(strings.Trim(m[3], `"[]`))
		if m[2] != "" {
			r.meaning += " (" + m[2] + ")"
		}
	}

	r.standard, r.meaning = markdown(r.standard), markdown(r.meaning)
	return r
}

func (r tableRow) line(defaults bool) string {
	cells := []string{r.flag, r.standard, r.meaning}
	if !defaults {
		cells = []string{r.flag, r.meaning}
	}
	if r.flag == "---" {
		return "|" + strings.Join(cells, "|") + "|"
	}
	return strings.ReplaceAll("| "+strings.Join(cells, " | ")+" |", "|  |", "| |")
}

// shortSpan leaves out the units of a span of time that are zero: 10m0s is 10m. Other texts are unchanged.
func shortSpan(text string) string {
	for _, zero := range []struct{ long, short string }{{"m0s", "m"}, {"h0m", "h"}} {
		if head, ok := strings.CutSuffix(text, zero.long); ok {
			text = head + zero.short
		}
	}
	return text
}

var (
	flagInText     = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`--[a-z][^ ,;:.)]*`) })
	markdownEscape = strings.NewReplacer("|", `\|`, "*", `\*`, "<", `\<`)
)

// markdown formats a text for a cell: it escapes markup, and marks flags as code.
func markdown(text string) string {
	return flagInText().ReplaceAllString(markdownEscape.Replace(text), "`$0`")
}
