package grade

import (
	_ "embed"
	"html/template"
	"io"
	"sync"
)

//go:embed report.html
var page string

// parsed is the template of the page, made when it is first used.
var parsed = sync.OnceValues(func() (*template.Template, error) { return template.New("report").Parse(page) })

type htmlRow struct {
	Name, Result, Points, Why, Language string
	Judged                              bool
	Cells                               []htmlCell
}

type htmlCell struct{ Word, Class, Title string }

// WriteHTML writes one page that needs nothing else: no script, no font and no other file. Everything
// in it that comes from a submission is escaped.
func (r Report) WriteHTML(w io.Writer, words Words) error {
	t, err := parsed()
	if err != nil {
		return err
	}

	data := struct {
		Problem, Summary string
		Tests            []string
		Rows             []htmlRow
	}{r.Problem, r.summary(), r.Tests, nil}

	for _, row := range r.Submissions {
		why := row.Why
		if row.First != "" {
			why = row.First + ": " + why
		}
		shown := htmlRow{Name: row.ID, Result: row.overall(words), Points: row.points(), Why: why, Language: row.Language,
			Judged: row.Status == Done}
		judge := row.cells(r.Tests, Judge)
		for i, word := range row.cells(r.Tests, words) {
			shown.Cells = append(shown.Cells, htmlCell{Word: word, Class: classOf(judge[i]), Title: r.Tests[i]})
		}
		data.Rows = append(data.Rows, shown)
	}

	return t.Execute(w, data)
}

// classOf is the class of a cell, for its color.
func classOf(word string) string {
	switch word {
	case "AC":
		return "good"
	case "":
		return "none"
	}
	return "bad"
}
