package grade

import (
	"encoding/csv"
	"io"
	"strings"
)

// WriteCSV writes a line for each submission, with a column for each test.
func (r Report) WriteCSV(w io.Writer, words Words) error {
	out := csv.NewWriter(w)
	head := []string{"name", "status", "result", "points", "max_points", "language", "first_failed", "why"}
	for _, id := range r.Tests {
		head = append(head, "test "+id)
	}
	if err := out.Write(head); err != nil {
		return err
	}
	for _, row := range r.Submissions {
		most := ""
		if row.MaxPoints != nil {
			most = formatNumber(*row.MaxPoints)
		}
		line := append([]string{row.ID, string(row.Status), row.overall(words), row.points(), most, row.Language, row.First, row.Why}, row.cells(r.Tests, words)...)
		for i, cell := range line {
			line[i] = plainCell(cell)
		}
		if err := out.Write(line); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// plainCell puts an apostrophe before text that a spreadsheet would execute: a file with the name
// =HYPERLINK(...).py is a formula on the teacher's machine otherwise
// (TestSpreadsheetsExecuteNothing).
func plainCell(s string) string {
	if s != "" && strings.ContainsAny(s[:1], "=+-@\t\r") && s != "-" {
		return "'" + s
	}
	return s
}
