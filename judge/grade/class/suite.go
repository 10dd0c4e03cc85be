package class

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/judge/grade"
	"github.com/brig-sandbox/brig/judge/suite"
)

// suiteRequest is the run of a submission with the cases.
func (g *Grading) suiteRequest(r api.Run, of grade.Submission) (api.Run, error) {
	own := slices.DeleteFunc(of.WithoutOwnTests(), func(f api.File) bool { return suite.Configures(f.Name) })
	files, err := g.Loader.Included(r.Language, own)
	if err != nil {
		return r, err
	}
	r.Files = files
	r.SourceName = g.suiteName(of)
	r.Suite, r.Collect, r.KeepOutput, r.Flags = g.Suite, api.Collect{}, 0, nil
	return suite.Prepare(r)
}

// suiteName is the name under which the cases find the program of a submission.
func (g *Grading) suiteName(of grade.Submission) string {
	name := g.Program
	taken := func(f api.File) bool { return f.Name == name }
	switch {
	case name != "" && !slices.ContainsFunc(of.Files, taken):
		return name
	case len(of.Files) > 0:
		return of.Main
	}
	return "solution" + filepath.Ext(of.Main)
}

// readSuite reads the report in a result.
func (g *Grading) readSuite(res api.Result) api.Result {
	res = suite.Read(*g.Suite, res)
	res.Stdout, res.Stderr = res.Stdout[:min(len(res.Stdout), int(Output))],
		res.Stderr[:min(len(res.Stderr), int(Output))]
	if g.Cases != nil {
		res = suite.Against(res, g.Cases)
	}
	return res
}

// Columns are the cases of the table: those of the teacher's solution; or without one those that at least
// half of the submissions have, because a program can make up others.
func (g *Grading) Columns(rows []grade.Row) []string {
	if g.Cases != nil {
		return g.Cases
	}

	var all []string
	count, reports := map[string]int{}, 0
	for _, row := range rows {
		if row.Result == nil || len(row.Result.Tests) == 0 || row.Result.Tests[0].ID == suite.Whole {
			continue
		}
		reports++
		for _, one := range row.Result.Tests {
			if count[one.ID]++; count[one.ID] == 1 {
				all = append(all, one.ID)
			}
		}
	}

	return slices.DeleteFunc(all, func(id string) bool { return 2*count[id] < reports || id == suite.Whole })
}

// TellingLine is the line that says why a case failed: the last one of a traceback of Python, or else the first.
func TellingLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if strings.HasPrefix(lines[0], "Traceback") {
		return strings.TrimSpace(lines[len(lines)-1])
	}
	return strings.TrimSpace(lines[0])
}
