package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/inputfile"
	"github.com/brig-sandbox/brig/internal/terminal"
	"github.com/brig-sandbox/brig/judge/grade"
	"github.com/brig-sandbox/brig/judge/problem"
	"github.com/brig-sandbox/brig/judge/suite"
)

// suiteFlags say how brig grade judges by unit tests.
type suiteFlags struct {
	report, command, sourceName, solution string
}

func (s *suiteFlags) register(f *pflag.FlagSet) {
	s.registerCases(f, "TESTS", "solution and the extension for a program of one file")
	f.Lookup("source-name").Usage = "`NAME` of the file that is the program in a directory with several; with --suite also the name under which the cases find the program (default solution and the extension for a program of one file)"
	f.StringVar(&s.solution, "solution", "",
		"with --suite: `FILE` of a right program: it must pass every case, and what it passes are the cases that count")
}

// registerCases registers the flags for one program. tests names where the cases are, and name is that of the
// program's file if nothing else is said.
func (s *suiteFlags) registerCases(f *pflag.FlagSet, tests, name string) {
	f.StringVar(&s.report, "suite", "",
		tests+" has unit tests: `NAME` says what runs them: pytest, unittest, jest, pester or junit")
	f.StringVar(&s.command, "suite-command", "",
		"with --suite: a `COMMAND` for sh that runs the cases instead of the usual one, with {report} for the name of its report")
	f.StringVar(&s.sourceName, "source-name", "",
		"with --suite: `NAME` of the file in which the cases expect the program (default "+name+")")
}

// check refuses what does not go with a suite, and flags that need one.
func (s *suiteFlags) check(r api.Run) error {
	if s.report == "" {
		if s.command != "" || s.solution != "" {
			return errors.New("--suite-command and --solution are for unit tests: add --suite NAME")
		}
		return nil
	}
	if r.Compare != (api.Compare{}) || r.StopAtFailure || r.InputFile != "" || r.OutputFile != "" {
		return errors.New("--suite: unit tests judge by themselves: leave out --compare, --tolerance, --stop-at-failure, --input-file and --output-file")
	}
	if language := s.language(r.Language, nil); language != "" {
		if err := suite.Check(*s.request(), language); err != nil {
			return fmt.Errorf("--suite %s: %w", s.report, err)
		}
	}

	probe := api.Run{Language: "any", Suite: s.request()}
	return probe.Validate()
}

// request is the suite of the runs.
func (s *suiteFlags) request() *api.Suite {
	of := &api.Suite{Report: api.ReportFormat(s.report)}
	if s.command != "" {
		of.Command = []string{"sh", "-c", s.command}
	}
	return of
}

// language is the language of all submissions: those in whose image the usual runner of the cases is. tests are the
// files of the suite; nil: they are not known yet.
func (s *suiteFlags) language(asked string, tests *problem.Tree) string {
	if asked != "" || s.command != "" {
		return asked
	}
	if s.report == "junit" && tests != nil &&
		slices.ContainsFunc(tests.Names(), func(name string) bool { return path.Ext(name) == ".java" }) {
		return "java-full"
	}
	return map[string]string{"pytest": "python-full", "jest": "javascript-full", "unittest": "python",
		"pester": "powershell", "junit": "javascript"}[s.report]
}

// openSuite opens the files of a suite: a directory, a zip or one file. They are placed next to each program.
func openSuite(name string) (*problem.Problem, openTree, error) {
	info, err := os.Stat(name)
	only := func(string) bool { return true }
	if err == nil && info.Mode().IsRegular() && filepath.Ext(name) != ".zip" {
		base := filepath.Base(name)
		only = func(file string) bool { return file == base }
		name = filepath.Dir(name)
	}

	whole, err := problem.Open(name)
	if err != nil {
		return nil, openTree{}, err
	}

	tree := whole.Only(only)
	if len(tree.Names()) == 0 {
		return nil, openTree{}, errors.Join(fmt.Errorf("%s: there are no files in it", name), whole.Close())
	}

	p := &problem.Problem{Format: "tests", Name: name, Compare: new(problem.Builtin),
		Include: []problem.Include{{Files: tree.Names()}}}
	return p, openTree{tree, whole}, nil
}

// prepareSuite finds out whether the image can run the cases, and which there are. A program that imports
// nothing would not show it: it fails in each case.
func (g *grading) prepareSuite(ctx context.Context) error {
	o := g.o.suite
	if o.report == "" {
		return nil
	}

	g.suite = o.request()
	r := g.o.run
	r.Suite = g.suite
	if r.Language != "" {
		l, err := g.prepare(ctx, r.Language, source{})
		if err != nil {
			return err
		}
		r.Language = l.Name
	}

	if probe, ok, err := suite.Probe(r); err != nil || ok {
		if err == nil {
			err = g.probeSuite(ctx, probe, o.language("", nil))
		}
		if err != nil {
			return fmt.Errorf("--suite %s: %w", o.report, err)
		}
	}

	if o.solution == "" {
		return nil
	}
	return g.runSolution(ctx)
}

// probeSuite executes a probe; usual is the language whose image has the command.
func (x *executor) probeSuite(ctx context.Context, r api.Run, usual string) error {
	res, e := x.Run(ctx, r, nil)
	switch {
	case e != nil:
		return e
	case res.Verdict != api.OK:
		return fmt.Errorf("the image of the language %s has none: use another --language, such as %s; it said: %s",
			r.Language, usual, terminal.OneLine(string(res.Stderr)))
	}
	return nil
}

// runSolution runs the cases with the teacher's solution.
func (g *grading) runSolution(ctx context.Context) error {
	name := g.o.suite.solution
	text, err := inputfile.Read(name, problem.MaxArchive)
	if err != nil {
		return fmt.Errorf("--solution: %w", err)
	}

	l, err := g.prepare(ctx, g.o.run.Language, source{ext: filepath.Ext(name), interpreter: interpreter(text)})
	if err != nil {
		return fmt.Errorf("--solution %s: %w", name, err)
	}
	if err := g.readProblem(ctx); err != nil {
		return err
	}

	r, err := g.request(grade.Submission{Main: filepath.Base(name), Text: text}, l.Name)
	if err != nil {
		return fmt.Errorf("--solution %s: %w", name, err)
	}

	res, e := g.Run(ctx, r, nil)
	if e != nil {
		return fmt.Errorf("--solution %s: %w", name, e)
	}

	output := res.Stdout
	if res = suite.Read(*g.suite, res); res.Summary == nil || res.Summary.Accepted < res.Summary.Tests {
		why := string(output)
		for _, one := range res.Tests {
			if !one.Accepted() {
				why = one.ID + ": " + tellingLine(failureText(one))
				break
			}
		}
		return fmt.Errorf("--solution %s does not pass every case: %s", name, terminal.OneLine(why))
	}

	for _, one := range res.Tests {
		g.cases = append(g.cases, one.ID)
	}
	return nil
}

// tellingLine is the line that says why a case failed: the last one of a traceback of Python, or else the first.
func tellingLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if strings.HasPrefix(lines[0], "Traceback") {
		return strings.TrimSpace(lines[len(lines)-1])
	}
	return strings.TrimSpace(lines[0])
}

// suiteRequest is the run of a submission with the cases.
func (g *grading) suiteRequest(r api.Run, s grade.Submission) (api.Run, error) {
	own := slices.DeleteFunc(slices.Clone(s.Files), func(f api.File) bool { return suite.Configures(f.Name) })
	files, err := g.loader.Included(r.Language, own)
	if err != nil {
		return r, err
	}
	r.Files = files
	r.SourceName = g.suiteName(s)
	r.Suite, r.Collect, r.KeepOutput, r.Flags = g.suite, api.Collect{}, 0, nil
	return suite.Prepare(r)
}

// suiteName is the name under which the cases find the program of a submission.
func (g *grading) suiteName(s grade.Submission) string {
	name := g.o.suite.sourceName
	taken := func(f api.File) bool { return f.Name == name }
	switch {
	case name != "" && !slices.ContainsFunc(s.Files, taken):
		return name
	case len(s.Files) > 0:
		return s.Main
	}
	return "solution" + filepath.Ext(s.Main)
}

// readSuite reads the report in a result.
func (g *grading) readSuite(res api.Result) api.Result {
	res = suite.Read(*g.suite, res)
	res.Stdout, res.Stderr = res.Stdout[:min(len(res.Stdout), int(gradeOutput))],
		res.Stderr[:min(len(res.Stderr), int(gradeOutput))]
	if g.cases != nil {
		res = suite.Against(res, g.cases)
	}
	return res
}

// columns are the cases of the table: those of the teacher's solution; or without one those that at least
// half of the submissions have, because a program can make up others.
func (g *grading) columns(rows []grade.Row) []string {
	if g.cases != nil {
		return g.cases
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
