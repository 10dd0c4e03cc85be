package judging

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/cmd/brig/cli"
	"github.com/brig-sandbox/brig/judge/grade"
	"github.com/brig-sandbox/brig/judge/grade/class"
	"github.com/brig-sandbox/brig/judge/problem"
)

const gradeUsage = `
Judge what a class handed in, and print a table of people and tests.

Usage:
  brig grade [flags] PROBLEM SUBMISSIONS...
  brig grade [flags] --suite NAME TESTS SUBMISSIONS...

PROBLEM is a directory or an archive with tests: NAME.in with NAME.ans or NAME.out,
input1.txt with output1.txt, input/1 with output/1, and other usual names; or a package of
a judge (see brig problem), whose limits, checker and points then apply; or the name of a
problem that was imported (brig problem import).

With --suite, TESTS is a directory, a zip or a file with unit tests, and NAME says what runs
them: pytest, unittest, jest, pester or junit. They are placed next to each program, whose file is
solution.py or as --source-name says, and every case is a column of the table. They run in
one sandbox with the program, which could forge its results: see docs/grading.md.

SUBMISSIONS is one directory or zip that holds those of everybody, or any number of files
and directories, each of which is one submission. A directory is one program: its main
file is the one that --source-name names, or the only source, or the one called main or
solution, or the only one with a main function. The language follows from the name of the
file. An empty directory is a submission that was not handed in.

Examples:
  brig grade hw3/tests submissions/
  brig grade hw3/tests moodle.zip --cpu 2s --memory 256M
  brig grade hw3/tests ann.py bob.cpp --words brig
  brig grade hw3/tests submissions/ --input-file input.txt --output-file output.txt
  brig grade kattis/different submissions/
  brig grade hw3/tests submissions/ --csv=grades.csv --html=grades.html --json=grades.json
  brig grade hw3/tests submissions/ --json=grades.json --rerun ann
  brig grade hw3/tests submissions/ --json=grades.json --rerun not-judged
  brig grade --suite pytest hw3/test_shapes.py submissions/ --source-name shapes.py

AC accepted, WA wrong answer, TLE too slow, MLE too much memory, OLE too much output, RE
run-time error, CE does not compile. An empty cell: the test did not run.

Exit codes: 0 if every submission was judged, whatever came of it; 1 if one could not be
judged; 125 if brig itself failed; 130 if it was interrupted. What could not be judged has
no points: that is not a grade.

Reports (--csv, --json, --html, --junit) go to stdout if they have no =FILE, instead of the
table. Files are replaced when everything has been judged. Of a grading that was interrupted they
stay as they are, its results are next to them (grades.partial.json), and brig prints the
command that judges the others.`

// GradeOptions is the command line of brig grade.
type GradeOptions struct {
	Run    api.Run // what all submissions have in common
	socket string
	wait   time.Duration

	noBuild bool
	scale   bool
	Quiet   bool
	words   string
	ignore  []string
	rerun   class.Rerun
	suite   SuiteFlags
	outputs map[string]*string // by format: the file; "-": stdout; empty: not wanted

	factor float64 // by which limits of time were multiplied; zero: they were not
}

// GradeFormats are the formats of brig grade, in the order of its flags.
var GradeFormats = []string{"csv", "json", "html", "junit"}

// gradeContents say what a report has in each format.
var gradeContents = map[string]string{
	"csv":   "a line in CSV for each submission, for a spreadsheet",
	"json":  "everything in JSON: the result of each test with times, memory and 4 KiB of its output",
	"html":  "a page in HTML that needs no other file and has no script",
	"junit": "JUnit XML: a suite for each submission, a case for each test",
}

func (o *GradeOptions) register(f *pflag.FlagSet) {
	f.StringVarP(&o.Run.Language, "language", "l", "",
		"`NAME` of the language of all submissions; by default from each file's extension, or its #! line")
	cli.LimitFlags(f, &o.Run.Limits, nil, api.OfBoth, api.OfExec, api.OfSession)
	f.StringArrayVar(&o.Run.Flags, "flag", nil,
		"`FLAG` for the compiler, such as -O3; instead of the default ones (repeatable)")
	f.StringVar((*string)(&o.Run.Compare.How), "compare", "",
		"how output is compared: "+cli.Comparisons()+" (default lines)")
	f.Float64Var(&o.Run.Compare.Tolerance, "tolerance", 0,
		fmt.Sprintf("difference allowed between numbers, with --compare float or json (default %v)", api.DefaultTolerance))
	cli.FileFlags(f, &o.Run)
	f.BoolVar(&o.Run.StopAtFailure, "stop-at-failure", false,
		"start no further test of a submission after one was not accepted")
	f.StringVar((*string)(&o.Run.Mode), "mode", "",
		"how much programs share: strict, fresh, or exclusive, for exams: each test has its own copy of the image "+
			"(default the agent's, strict)")
	o.suite.register(f)
	f.StringArrayVar(&o.ignore, "ignore", nil,
		"leave out files and directories whose name matches `GLOB`, such as 'README*' (repeatable)")
	f.StringArrayVar(&o.rerun.Names, "rerun", nil,
		"judge only the submission with this `NAME`, or with not-judged all that were not; the others keep what "+
			"--json=FILE says of them, if there is one (repeatable)")
	f.StringVar(&o.words, "words", string(grade.Judge),
		"how results are written: judge (AC WA TLE ...) or brig (accepted wrong-answer cpu-limit ...)")
	o.outputs = map[string]*string{}
	for _, format := range GradeFormats {
		o.outputs[format] = f.String(format, "", "write to this `FILE` "+gradeContents[format])
		f.Lookup(format).NoOptDefVal = "-"
	}

	f.BoolVar(&o.scale, "scale-cpu", false,
		"multiply the limits of time by what brig calibrate has measured of this machine")
	f.BoolVarP(&o.Quiet, "quiet", "q", false, "print no progress and no note")
	f.DurationVar(&o.wait, "wait", 10*time.Minute, "how long to wait for a free slot, and for an agent that restarts")
	cli.NoBuildFlag(f, &o.noBuild)
	cli.SocketVar(f, &o.socket)
}

// GradeCommand is brig grade: find tests and submissions, judge all, write the report.
func GradeCommand(c *cli.CLI) *cobra.Command {
	o := new(GradeOptions)
	k, f := cli.NewCommand("grade", gradeUsage)
	o.register(f)
	return c.Does(k, func() int {
		err := o.check(f)
		if err == nil {
			err = cli.RefuseExplicitZero(f)
		}
		if err != nil {
			return c.Hint("grade", err)
		}

		p, tree, err := o.open(c, f.Arg(0))
		if err != nil {
			return c.Fail(err)
		}
		defer tree.Close()

		if !o.Quiet {
			NoteFindings(c, f.Arg(0), p.Warnings)
		}
		if o.scale {
			if o.factor, err = scaleCPU(c, &o.Run.Limits, p); err != nil {
				return c.Fail(err)
			}
		}

		agent, err := c.Connect(o.socket, cli.CeilingFlags(api.Run{Limits: maxOf(p, o.Run.Limits)})...)
		if err != nil {
			return c.Fail(err)
		}

		ctx, stop := cli.UntilInterrupt(agent)
		defer stop()

		g, err := newGrading(ctx, c, agent, o, p, tree.Tree, f.Args()[1:])
		if err == nil {
			defer g.done()
			err = g.SetTimeLimit(ctx)
		}
		if err != nil {
			return c.Fail(agent.Explain(err))
		}

		report := g.JudgeAll(ctx)
		report.Problem = f.Arg(0)
		report.ScaleCPU = o.factor
		report = o.rerun.Complete(g.Grading, report)
		if err := writeGrades(c, o, report); err != nil {
			return c.Fail(err)
		}

		noteMissing(c, o.Quiet, report)
		var s cli.Interrupted
		switch {
		case errors.As(context.Cause(ctx), &s):
			return s.Exit()
		case !report.AllJudged():
			return 1
		}

		return 0
	})
}

// noteMissing names those who handed in nothing.
func noteMissing(c *cli.CLI, quiet bool, r grade.Report) {
	var names []string
	for _, row := range r.Submissions {
		if row.Status == grade.Missing {
			names = append(names, row.ID)
		}
	}
	if len(names) > 0 && !quiet {
		c.Note("note: not handed in: %s", strings.Join(names, ", "))
	}
}

// open opens the problem, or the files of a suite.
func (o *GradeOptions) open(c *cli.CLI, name string) (*problem.Problem, OpenTree, error) {
	if o.suite.Report != "" {
		return OpenSuite(name)
	}
	return OpenProblem(c, name)
}

// check refuses a command line that contradicts itself, before anything is read.
func (o *GradeOptions) check(f *pflag.FlagSet) error {
	switch {
	case f.NArg() == 0:
		return errors.New("name the PROBLEM, a directory with tests, and the SUBMISSIONS")
	case f.NArg() == 1:
		return fmt.Errorf("name what to judge after %s: files, a directory or a zip archive", f.Arg(0))
	case o.words != string(grade.Judge) && o.words != string(grade.Brig):
		return fmt.Errorf("--words %s: write judge or brig", o.words)
	}

	if err := o.suite.Check(o.Run); err != nil {
		return err
	}

	for _, pattern := range o.ignore {
		if _, err := path.Match(pattern, "x"); err != nil {
			return fmt.Errorf("--ignore %q: %w", pattern, err)
		}
	}

	if o.Run.Compare.Tolerance != 0 && o.Run.Compare.How == "" {
		o.Run.Compare.How = api.CompareFloat
	}

	stdout := ""
	for _, format := range GradeFormats {
		file := *o.outputs[format]
		switch {
		case file == "-" && stdout != "":
			return fmt.Errorf("--%s and --%s both go to stdout: write --%s=FILE", stdout, format, format)
		case file == "-":
			stdout = format
			if last := f.Arg(f.NArg() - 1); strings.EqualFold(filepath.Ext(last), "."+format) {
				return fmt.Errorf("--%s %s: write --%[1]s=%[2]s", format, last)
			}
		case file != "":
			if err := checkOutFile(file); err != nil {
				return fmt.Errorf("--%s: %w", format, err)
			}
		}
	}

	probe := o.Run
	probe.Language, probe.Source, probe.Tests = "any", api.Bytes{}, []api.Test{{ID: "1"}}
	return probe.Validate()
}

// NoteFindings prints notes about what a package has that does not matter.
func NoteFindings(c *cli.CLI, where string, all []problem.Finding) {
	for _, f := range all {
		c.Note("note: %s: %s", where, f)
	}
}
