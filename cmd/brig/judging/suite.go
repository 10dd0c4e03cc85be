package judging

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/spf13/pflag"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/cmd/brig/cli"
	"github.com/brig-sandbox/brig/cmd/brig/images"
	"github.com/brig-sandbox/brig/internal/inputfile"
	"github.com/brig-sandbox/brig/internal/terminal"
	"github.com/brig-sandbox/brig/judge/grade"
	"github.com/brig-sandbox/brig/judge/grade/class"
	"github.com/brig-sandbox/brig/judge/problem"
	"github.com/brig-sandbox/brig/judge/suite"
)

// SuiteFlags say how brig grade judges by unit tests.
type SuiteFlags struct {
	Report, command, SourceName, solution string
}

func (s *SuiteFlags) register(f *pflag.FlagSet) {
	s.RegisterCases(f, "TESTS", "solution and the extension for a program of one file")
	f.Lookup("source-name").Usage = "`NAME` of the file that is the program in a directory with several; with " +
		"--suite also the name under which the cases find the program (default solution and the extension for a program of one file)"
	f.StringVar(&s.solution, "solution", "",
		"with --suite: `FILE` of a right program: it must pass every case, and what it passes are the cases that count")
}

// RegisterCases registers the flags for one program. tests names where the cases are, and name is that of the
// program's file if nothing else is said.
func (s *SuiteFlags) RegisterCases(f *pflag.FlagSet, tests, name string) {
	f.StringVar(&s.Report, "suite", "",
		tests+" has unit tests: `NAME` says what runs them: pytest, unittest, jest, pester or junit")
	f.StringVar(&s.command, "suite-command", "",
		"with --suite: a `COMMAND` for sh that runs the cases instead of the usual one, with {report} for the name of its report")
	f.StringVar(&s.SourceName, "source-name", "",
		"with --suite: `NAME` of the file in which the cases expect the program (default "+name+")")
}

// Check refuses what does not go with a suite, and flags that need one.
func (s *SuiteFlags) Check(r api.Run) error {
	if s.Report == "" {
		if s.command != "" || s.solution != "" {
			return errors.New("--suite-command and --solution are for unit tests: add --suite NAME")
		}
		return nil
	}
	if r.Compare != (api.Compare{}) || r.StopAtFailure || r.InputFile != "" || r.OutputFile != "" {
		return errors.New("--suite: unit tests judge by themselves: leave out --compare, --tolerance, " +
			"--stop-at-failure, --input-file and --output-file")
	}
	if language := s.Language(r.Language, nil); language != "" {
		if err := suite.Check(*s.Request(), language); err != nil {
			return fmt.Errorf("--suite %s: %w", s.Report, err)
		}
	}

	probe := api.Run{Language: "any", Suite: s.Request()}
	return probe.Validate()
}

// Request is the suite of the runs.
func (s *SuiteFlags) Request() *api.Suite {
	of := &api.Suite{Report: api.ReportFormat(s.Report)}
	if s.command != "" {
		of.Command = []string{"sh", "-c", s.command}
	}
	return of
}

// Language is the language of all submissions: those in whose image the usual runner of the cases is. tests are the
// files of the suite; nil: they are not known yet.
func (s *SuiteFlags) Language(asked string, tests *problem.Tree) string {
	if asked != "" || s.command != "" {
		return asked
	}
	if s.Report == "junit" && tests != nil &&
		slices.ContainsFunc(tests.Names(), func(name string) bool { return path.Ext(name) == ".java" }) {
		return "java-full"
	}
	return map[string]string{"pytest": "python-full", "jest": "javascript-full", "unittest": "python",
		"pester": "powershell", "junit": "javascript"}[s.Report]
}

// OpenSuite opens the files of a suite: a directory, a zip or one file. They are placed next to each program.
func OpenSuite(name string) (*problem.Problem, OpenTree, error) {
	info, err := os.Stat(name)
	only := func(string) bool { return true }
	if err == nil && info.Mode().IsRegular() && filepath.Ext(name) != ".zip" {
		base := filepath.Base(name)
		only = func(file string) bool { return file == base }
		name = filepath.Dir(name)
	}

	whole, err := problem.Open(name)
	if err != nil {
		return nil, OpenTree{}, err
	}

	tree := whole.Only(only)
	if len(tree.Names()) == 0 {
		return nil, OpenTree{}, errors.Join(fmt.Errorf("%s: there are no files in it", name), whole.Close())
	}

	p := &problem.Problem{Format: "tests", Name: name, Compare: new(problem.Builtin),
		Include: []problem.Include{{Files: tree.Names()}}}
	return p, OpenTree{tree, whole}, nil
}

// prepareSuite finds out whether the image can run the cases, and which there are. A program that imports
// nothing would not show it: it fails in each case.
func (g *Grading) prepareSuite(ctx context.Context) error {
	o := g.Options.suite
	if o.Report == "" {
		return nil
	}

	g.Suite = o.Request()
	r := g.Options.Run
	r.Suite = g.Suite
	if r.Language != "" {
		l, err := g.Prepare(ctx, r.Language, cli.Source{})
		if err != nil {
			return err
		}
		r.Language = l.Name
	}

	if probe, ok, err := suite.Probe(r); err != nil || ok {
		if err == nil {
			err = ProbeSuite(ctx, g.Executor, probe, o.Language("", nil))
		}
		if err != nil {
			return fmt.Errorf("--suite %s: %w", o.Report, err)
		}
	}

	if o.solution == "" {
		return nil
	}
	return g.runSolution(ctx)
}

// ProbeSuite executes a probe; usual is the language whose image has the command.
func ProbeSuite(ctx context.Context, x *images.Executor, r api.Run, usual string) error {
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
func (g *Grading) runSolution(ctx context.Context) error {
	name := g.Options.suite.solution
	text, err := inputfile.Read(name, problem.MaxArchive)
	if err != nil {
		return fmt.Errorf("--solution: %w", err)
	}

	l, err := g.Prepare(ctx, g.Options.Run.Language, cli.Source{Ext: filepath.Ext(name), Interpreter: cli.Interpreter(text)})
	if err != nil {
		return fmt.Errorf("--solution %s: %w", name, err)
	}
	if err := g.ReadProblem(ctx); err != nil {
		return err
	}

	r, err := g.Request(grade.Submission{Main: filepath.Base(name), Text: text}, l.Name)
	if err != nil {
		return fmt.Errorf("--solution %s: %w", name, err)
	}

	res, e := g.Run(ctx, r, nil)
	if e != nil {
		return fmt.Errorf("--solution %s: %w", name, e)
	}

	output := res.Stdout
	if res = suite.Read(*g.Suite, res); res.Summary == nil || res.Summary.Accepted < res.Summary.Tests {
		why := string(output)
		for _, one := range res.Tests {
			if !one.Accepted() {
				why = one.ID + ": " + class.TellingLine(cli.FailureText(one))
				break
			}
		}
		return fmt.Errorf("--solution %s does not pass every case: %s", name, terminal.OneLine(why))
	}

	for _, one := range res.Tests {
		g.Cases = append(g.Cases, one.ID)
	}
	return nil
}
