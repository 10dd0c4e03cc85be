package grade

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/brig-sandbox/brig/problem"
)

func trimmed(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// WriteTable writes a line for each submission. Columns for the tests are written if the lines then
// have at most width characters, and otherwise how often each outcome occurred; zero: whatever the
// width. escape makes text from strangers safe on a terminal.
func (r Report) WriteTable(w io.Writer, words Words, width int, escape func(string) string) error {
	rows := r.lines(words, escape, false)
	if width > 0 && longest(rows) > width {
		rows = r.lines(words, escape, true)
	}
	widths := columnWidths(rows)
	for _, cells := range rows {
		var line strings.Builder
		for i, cell := range cells {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i == scoreColumn(cells) { // numbers end in one column
				cell, pad = pad+cell, ""
			}
			line.WriteString(cell + pad + "  ")
		}
		if _, err := fmt.Fprintln(w, strings.TrimRight(line.String(), " ")); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(w, r.summary())
	return err
}

// scoreColumn is the index of the points: the last but one.
func scoreColumn(cells []string) int { return len(cells) - 2 }

func (r Report) lines(words Words, escape func(string) string, short bool) [][]string {
	head := []string{"NAME", "RESULT"}
	if short {
		head = append(head, "TESTS")
	} else {
		for _, id := range r.Tests {
			head = append(head, escape(id))
		}
	}
	rows := [][]string{append(head, "POINTS", "FIRST FAILURE")}
	for _, row := range r.Submissions {
		cells := row.cells(r.Tests, words)
		if short {
			cells = []string{count(cells)}
		}
		why := escape(row.Why)
		if row.First != "" {
			why = escape(row.First) + ": " + why
		}
		line := append([]string{escape(row.ID), row.overall(words)}, cells...)
		rows = append(rows, append(line, row.points(), strings.TrimSuffix(why, ": ")))
	}
	return rows
}

// count says how often each word occurs, in the order in which they first do.
func count(cells []string) string {
	n := map[string]int{}
	var order []string
	for _, c := range cells {
		if c == "" {
			continue
		}
		if n[c]++; n[c] == 1 {
			order = append(order, c)
		}
	}
	if i := slices.Index(order, "AC"); i > 0 {
		order = append([]string{"AC"}, slices.Delete(order, i, i+1)...)
	}
	var all []string
	for _, c := range order {
		all = append(all, fmt.Sprintf("%d %s", n[c], c))
	}
	return strings.Join(all, ", ")
}

func columnWidths(rows [][]string) []int {
	widths := make([]int, len(rows[0]))
	for _, cells := range rows {
		for i, cell := range cells {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	return widths
}

// longest is the width of the table without its last column, which may be long.
func longest(rows [][]string) int {
	n := 0
	for _, w := range columnWidths(rows)[:len(rows[0])-1] {
		n += w + 2
	}
	return n
}

// summary counts the submissions.
func (r Report) summary() string {
	accepted := 0
	count := map[Status]int{}
	for _, row := range r.Submissions {
		count[row.Status]++
		if row.Word == "AC" {
			accepted++
		}
	}
	line := fmt.Sprintf("%s, %s: %d accepted, %d not", problem.Count(len(r.Submissions), "submission"), problem.Count(len(r.Tests), "test"), accepted, count[Done]-accepted)
	if n := len(r.Submissions) - count[Done] - count[Missing]; n > 0 {
		line += fmt.Sprintf("; %d not judged", n)
	}
	if n := count[Missing]; n > 0 {
		line += fmt.Sprintf("; %d not handed in", n)
	}
	return line
}
