package grade

import (
	"io"
	"strings"
	"unicode"
)

// ByteOrderMark before the text of a file makes Excel read it as UTF-8.
const ByteOrderMark = "\ufeff"

// WriteCSV writes a line for each submission, with a column for each test.
func (r Report) WriteCSV(w io.Writer, words Words) error {
	head := []string{"name", "status", "result", "points", "max_points", "language", "first_failed", "why"}
	for _, id := range r.Tests {
		head = append(head, "test "+id)
	}

	lines := [][]string{head}
	for _, row := range r.Submissions {
		maximum := ""
		if row.MaxPoints != nil {
			maximum = formatNumber(*row.MaxPoints)
		}
		line := append([]string{row.ID, string(row.Status), row.overall(words), row.points(), maximum, row.Language, row.First,
			row.Why}, row.cells(r.Tests, words)...)
		lines = append(lines, line)
	}

	for _, line := range lines {
		cells := make([]string, len(line))
		for i, cell := range line {
			cells[i] = quotedCell(plainCell(cell))
		}
		if _, err := io.WriteString(w, strings.Join(cells, ",")+"\n"); err != nil {
			return err
		}
	}

	return nil
}

// formula finds what a spreadsheet would execute: at the beginning of a cell, and after a semicolon or a tab, which
// separate cells for spreadsheets in most of Europe, also where the cell is quoted for those that expect commas.
// Excel in East Asia also takes the wide forms of the signs.
var formula = compiled(`(^|[;\t\r\n])([ "']*)([=+@＝＋＠－-])`)

// plainCell puts an apostrophe before text that a spreadsheet would execute: a file with the name
// =HYPERLINK(...).py is a formula on the teacher's machine otherwise
// (TestSpreadsheetsExecuteNothing).
func plainCell(s string) string {
	if s == "-" {
		return s
	}
	s = formula().ReplaceAllString(strings.Map(plainRune, s), "${1}'${2}${3}")
	if strings.HasPrefix(s, "\t") || strings.HasPrefix(s, "\r") {
		return "'" + s
	}
	return s
}

// plainRune replaces what a terminal would execute, on which somebody looks at the file: a name may have an escape
// sequence in it.
func plainRune(r rune) rune {
	if unicode.IsControl(r) && !strings.ContainsRune("\t\r\n", r) {
		return unicode.ReplacementChar
	}
	return r
}

// quotedCell quotes a cell with anything that separates cells for some spreadsheet.
func quotedCell(s string) string {
	if !strings.ContainsAny(s, ",;\t\"\r\n") && strings.TrimSpace(s) == s {
		return s
	}
	return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
}
