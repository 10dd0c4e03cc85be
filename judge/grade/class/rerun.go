package class

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/brig-sandbox/brig/internal/inputfile"
	"github.com/brig-sandbox/brig/internal/suggest"
	"github.com/brig-sandbox/brig/judge/grade"
)

// NotJudged, as a name of a Rerun, names all submissions that were not judged.
const NotJudged = "not-judged"

const maxEarlierReport = 1 << 30 // bytes of a report that a Rerun completes

// A Rerun judges only some submissions, and takes what an earlier report says of the others. The zero value judges all.
type Rerun struct {
	Names []string // of submissions, or NotJudged; empty: all are judged

	// Earlier is the report that is completed, and File where it was read. nil: nothing is known of the others.
	Earlier *grade.Report
	File    string
}

// PartialName is the name of the file that has what was judged before a grading was interrupted: grades.partial.json
// next to grades.json.
func PartialName(name string) string {
	ext := filepath.Ext(name)
	return strings.TrimSuffix(name, ext) + ".partial" + ext
}

// Read reads the earlier report. That is in file, or what an interrupted grading wrote next to it: for all that were not
// judged, and if there is no file. An empty name, and files that do not exist, are errors only for NotJudged. Without
// Names it reads nothing.
func (r *Rerun) Read(file string) error {
	if len(r.Names) == 0 {
		return nil
	}

	all := slices.Contains(r.Names, NotJudged)
	if file == "" {
		if all {
			return fmt.Errorf("--rerun %s needs the results so far: add --json=FILE", NotJudged)
		}
		return nil
	}

	candidates := []string{file, PartialName(file)}
	if all {
		slices.Reverse(candidates)
	}

	for _, name := range candidates {
		text, err := inputfile.Read(name, maxEarlierReport)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}

		r.Earlier = new(grade.Report)
		if err := json.Unmarshal(text, r.Earlier); err != nil {
			return fmt.Errorf("%s is no report of brig grade --json: %w", name, err)
		}

		r.File = name
		return nil
	}

	if all {
		return fmt.Errorf("--rerun %s: there are no results in %s: leave out --rerun", NotJudged, file)
	}
	return nil
}

// Select returns those of all submissions that are judged again. A name that none of them has is an error. It may
// change all.
func (r *Rerun) Select(all []grade.Submission) ([]grade.Submission, error) {
	if len(r.Names) == 0 {
		return all, nil
	}

	names, err := r.names(all)
	if err != nil {
		return nil, err
	}

	done := map[string]bool{}
	if r.Earlier != nil {
		for _, row := range r.Earlier.Submissions {
			done[row.ID] = row.Status == grade.Done
		}
	}

	rest := slices.Contains(r.Names, NotJudged)
	return slices.DeleteFunc(all, func(s grade.Submission) bool {
		return !slices.Contains(names, s.Name) && !(rest && !done[s.Name])
	}), nil
}

// names are the names of submissions that r has. A user may also have written the path of a file.
func (r *Rerun) names(all []grade.Submission) ([]string, error) {
	var known []string
	for _, s := range all {
		known = append(known, s.Name)
	}

	var names []string
	for _, name := range r.Names {
		short := strings.TrimSuffix(filepath.Base(name), filepath.Ext(name))
		switch {
		case name == NotJudged:
		case slices.Contains(known, name):
			names = append(names, name)
		case slices.Contains(known, short):
			names = append(names, short)
		default:
			return nil, fmt.Errorf("--rerun %s: there is no such submission%s", name, suggest.Text(name, known))
		}
	}

	return names, nil
}

// Check refuses to complete a report that says something else than g would, whose limits of time were multiplied by
// scale; zero: they were not.
func (r *Rerun) Check(g *Grading, scale float64) error {
	if r.Earlier == nil {
		return nil
	}

	var tests []string
	for _, t := range g.Common.Tests {
		tests = append(tests, t.ID)
	}

	switch {
	case g.Suite == nil && !slices.Equal(r.Earlier.Tests, tests):
		return fmt.Errorf("%s has the results of other tests: leave out --rerun to judge all", r.File)
	case r.Earlier.ScaleCPU != scale:
		return fmt.Errorf("%s has the results of other limits (--scale-cpu): leave out --rerun to judge all", r.File)
	}

	return nil
}

// Complete returns the report of g with the rows that the earlier one has of the submissions that were not judged again.
func (r *Rerun) Complete(g *Grading, report grade.Report) grade.Report {
	if r.Earlier == nil {
		return report
	}
	all := report
	all.Submissions = slices.Clone(r.Earlier.Submissions)
	for _, row := range report.Submissions {
		all.Replace(row)
	}
	if g.Suite != nil {
		all.Tests = g.Columns(all.Submissions)
	}
	return all
}
