package main

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

const (
	notJudged        = "not-judged" // as a name of --rerun: all that were not judged
	maxEarlierReport = 1 << 30      // bytes of a report that --rerun completes
)

// selectRerun keeps the submissions that --rerun names, and reads what is known of the others.
func (g *grading) selectRerun() error {
	if len(g.o.rerun) == 0 {
		return nil
	}

	all := slices.Contains(g.o.rerun, notJudged)
	if err := g.readEarlier(all); err != nil {
		return err
	}

	names, err := g.rerunNames()
	if err != nil {
		return err
	}

	done := map[string]bool{}
	if g.earlier != nil {
		for _, row := range g.earlier.Submissions {
			done[row.ID] = row.Status == grade.Done
		}
	}

	g.Submissions = slices.DeleteFunc(g.Submissions, func(s grade.Submission) bool {
		return !slices.Contains(names, s.Name) && !(all && !done[s.Name])
	})
	return nil
}

// rerunNames are the names of submissions that --rerun has.
func (g *grading) rerunNames() ([]string, error) {
	var known []string
	for _, s := range g.Submissions {
		known = append(known, s.Name)
	}

	var names []string
	for _, name := range g.o.rerun {
		short := strings.TrimSuffix(filepath.Base(name), filepath.Ext(name))
		switch {
		case name == notJudged:
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

// readEarlier reads the report that --rerun completes. That is --json=FILE, or what an interrupted grading wrote
// next to it: for all that were not judged, and if there is no FILE.
func (g *grading) readEarlier(all bool) error {
	file := *g.o.outputs["json"]
	if file == "" || file == "-" {
		if all {
			return fmt.Errorf("--rerun %s needs the results so far: add --json=FILE", notJudged)
		}
		return nil
	}

	candidates := []string{file, partialName(file)}
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

		g.earlier = new(grade.Report)
		if err := json.Unmarshal(text, g.earlier); err != nil {
			return fmt.Errorf("%s is no report of brig grade --json: %w", name, err)
		}

		g.o.completes = name
		return nil
	}

	if all {
		return fmt.Errorf("--rerun %s: there are no results in %s: leave out --rerun", notJudged, file)
	}
	return nil
}

// checkEarlier refuses to complete a report that says something else than this grading would.
func (g *grading) checkEarlier() error {
	if g.earlier == nil {
		return nil
	}

	var tests []string
	for _, t := range g.Common.Tests {
		tests = append(tests, t.ID)
	}

	switch {
	case g.Suite == nil && !slices.Equal(g.earlier.Tests, tests):
		return fmt.Errorf("%s has the results of other tests: leave out --rerun to judge all", g.o.completes)
	case g.earlier.ScaleCPU != g.o.factor:
		return fmt.Errorf("%s has the results of other limits (--scale-cpu): leave out --rerun to judge all", g.o.completes)
	}

	return nil
}

// withEarlier is the report with the rows that an earlier one has of the submissions that were not judged
// again.
func (g *grading) withEarlier(r grade.Report) grade.Report {
	if g.earlier == nil {
		return r
	}
	all := r
	all.Submissions = slices.Clone(g.earlier.Submissions)
	for _, row := range r.Submissions {
		all.Replace(row)
	}
	if g.Suite != nil {
		all.Tests = g.Columns(all.Submissions)
	}
	return all
}
