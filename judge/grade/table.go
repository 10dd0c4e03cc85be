package grade

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/rivo/uniseg"

	"github.com/brig-sandbox/brig/judge/problem"
)

func trimmed(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// A Table says how a report is written for people.
type Table struct {
	Words  Words
	Width  int                 // of the terminal in cells; zero: lines may have any width
	Color  bool                // whether the terminal shows colors
	Escape func(string) string // makes text from strangers safe on a terminal
}

// minWhy is how many cells the last column has at least, even if lines are longer than the terminal is wide.
const minWhy = 30

// WriteTable writes a line for each submission. Columns for the tests are written if the lines then fit into the
// width, and otherwise how often each outcome occurred. The last column is cut to fit.
func (r Report) WriteTable(w io.Writer, t Table) error {
	rows := r.lines(t, false)
	if t.Width > 0 && withoutLast(columnWidths(rows)) > t.Width {
		rows = r.lines(t, true)
	}

	widths := columnWidths(rows)
	last := len(widths) - 1
	if t.Width > 0 {
		widths[last] = max(t.Width-withoutLast(widths), minWhy)
	}

	for n, cells := range rows {
		var line strings.Builder
		for i, cell := range cells {
			if i == last {
				cell = CutToWidth(cell, widths[i])
			}

			pad := strings.Repeat(" ", widths[i]-uniseg.StringWidth(cell))
			text := cell
			if t.Color && n > 0 && i > 0 && i < scoreColumn(cells) {
				text = colored(cell)
			}

			switch i {
			case last:
				line.WriteString(text)
			case scoreColumn(cells): // numbers end in one column
				line.WriteString(pad + text + "  ")
			default:
				line.WriteString(text + pad + "  ")
			}
		}

		if _, err := fmt.Fprintln(w, strings.TrimRight(line.String(), " ")); err != nil {
			return err
		}
	}

	_, err := fmt.Fprintln(w, r.summary())
	return err
}

// onlyAccepted are the tests of a row in short, if all were accepted.
var onlyAccepted = compiled(`^[0-9]+ (AC|accepted)$`)

// colored is an outcome in green, red, or yellow if nothing was judged.
func colored(cell string) string {
	color := "31"
	switch {
	case strings.TrimSpace(cell) == "":
		return cell
	case cell == "AC" || cell == "accepted" || onlyAccepted().MatchString(cell):
		color = "32"
	case strings.HasPrefix(cell, "not ") || cell == "PC" || cell == "partial" || cell == "-":
		color = "33"
	}
	return "\x1b[" + color + "m" + cell + "\x1b[m"
}

// CutToWidth is a text in at most so many cells of a terminal, with an ellipsis if something was cut.
func CutToWidth(text string, width int) string {
	if uniseg.StringWidth(text) <= width {
		return text
	}
	var cut strings.Builder
	left := width - 1 // for the ellipsis
	for graphemes := uniseg.NewGraphemes(text); graphemes.Next(); {
		if left -= graphemes.Width(); left < 0 {
			break
		}
		cut.WriteString(graphemes.Str())
	}
	return cut.String() + "…"
}

// scoreColumn is the index of the points: the last but one.
func scoreColumn(cells []string) int { return len(cells) - 2 }

func (r Report) lines(t Table, short bool) [][]string {
	head := []string{"NAME", "RESULT"}
	if short {
		head = append(head, "TESTS")
	} else {
		for _, id := range r.Tests {
			head = append(head, t.Escape(id))
		}
	}

	rows := [][]string{append(head, "POINTS", "FIRST FAILURE")}
	for _, row := range r.Submissions {
		cells := row.cells(r.Tests, t.Words)
		if short {
			cells = []string{count(cells)}
		}
		why := t.Escape(row.Why)
		if row.First != "" {
			why = t.Escape(row.First) + ": " + why
		}
		line := append([]string{t.Escape(row.ID), row.overall(t.Words)}, cells...)
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

// columnWidths are the widths of the columns in cells of a terminal: Chinese characters take two, accents none.
func columnWidths(rows [][]string) []int {
	widths := make([]int, len(rows[0]))
	for _, cells := range rows {
		for i, cell := range cells {
			widths[i] = max(widths[i], uniseg.StringWidth(cell))
		}
	}
	return widths
}

// withoutLast is the width of a table without its last column, which may be long.
func withoutLast(widths []int) int {
	n := 0
	for _, w := range widths[:len(widths)-1] {
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

	line := fmt.Sprintf("%s, %s: %d accepted, %d not", problem.Count(len(r.Submissions), "submission"),
		problem.Count(len(r.Tests), "test"), accepted, count[Done]-accepted)
	if n := len(r.Submissions) - count[Done] - count[Missing]; n > 0 {
		line += fmt.Sprintf("; %d not judged", n)
	}
	if n := count[Missing]; n > 0 {
		line += fmt.Sprintf("; %d not handed in", n)
	}
	return line
}
