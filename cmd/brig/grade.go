package main

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

// gradeOptions is the command line of brig grade.
type gradeOptions struct {
	run    api.Run // what all submissions have in common
	socket string
	wait   time.Duration

	noBuild bool
	scale   bool
	quiet   bool
	words   string
	ignore  []string
	rerun   class.Rerun
	suite   suiteFlags
	outputs map[string]*string // by format: the file; "-": stdout; empty: not wanted

	factor float64 // by which limits of time were multiplied; zero: they were not
}

// gradeFormats are the formats of brig grade, in the order of its flags.
var gradeFormats = []string{"csv", "json", "html", "junit"}

// gradeContents say what a report has in each format.
var gradeContents = map[string]string{
	"csv":   "a line in CSV for each submission, for a spreadsheet",
	"json":  "everything in JSON: the result of each test with times, memory and 4 KiB of its output",
	"html":  "a page in HTML that needs no other file and has no script",
	"junit": "JUnit XML: a suite for each submission, a case for each test",
}

func (o *gradeOptions) register(f *pflag.FlagSet) {
	f.StringVarP(&o.run.Language, "language", "l", "",
		"`NAME` of the language of all submissions; by default from each file's extension, or its #! line")
	limitFlags(f, &o.run.Limits, nil, api.OfBoth, api.OfExec, api.OfSession)
	f.StringArrayVar(&o.run.Flags, "flag", nil,
		"`FLAG` for the compiler, such as -O3; instead of the default ones (repeatable)")
	f.StringVar((*string)(&o.run.Compare.How), "compare", "",
		"how output is compared: "+comparisons()+" (default lines)")
	f.Float64Var(&o.run.Compare.Tolerance, "tolerance", 0,
		fmt.Sprintf("difference allowed between numbers, with --compare float or json (default %v)", api.DefaultTolerance))
	fileFlags(f, &o.run)
	f.BoolVar(&o.run.StopAtFailure, "stop-at-failure", false,
		"start no further test of a submission after one was not accepted")
	f.StringVar((*string)(&o.run.Mode), "mode", "",
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
	for _, format := range gradeFormats {
		o.outputs[format] = f.String(format, "", "write to this `FILE` "+gradeContents[format])
		f.Lookup(format).NoOptDefVal = "-"
	}

	f.BoolVar(&o.scale, "scale-cpu", false,
		"multiply the limits of time by what brig calibrate has measured of this machine")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "print no progress and no note")
	f.DurationVar(&o.wait, "wait", 10*time.Minute, "how long to wait for a free slot, and for an agent that restarts")
	noBuildFlag(f, &o.noBuild)
	socketVar(f, &o.socket)
}

// gradeCommand is brig grade: find tests and submissions, judge all, write the report.
func gradeCommand(c *cli) *cobra.Command {
	o := new(gradeOptions)
	k, f := newCommand("grade", gradeUsage)
	o.register(f)
	return c.does(k, func() int {
		err := o.check(f)
		if err == nil {
			err = refuseExplicitZero(f)
		}
		if err != nil {
			return c.hint("grade", err)
		}

		p, tree, err := o.open(c, f.Arg(0))
		if err != nil {
			return c.fail(err)
		}
		defer tree.Close()

		if !o.quiet {
			c.noteFindings(f.Arg(0), p.Warnings)
		}
		if o.scale {
			if o.factor, err = c.scaleCPU(&o.run.Limits, p); err != nil {
				return c.fail(err)
			}
		}

		agent, err := c.connect(o.socket, ceilingFlags(api.Run{Limits: maxOf(p, o.run.Limits)})...)
		if err != nil {
			return c.fail(err)
		}

		ctx, stop := untilInterrupt(agent)
		defer stop()

		g, err := c.newGrading(ctx, agent, o, p, tree.Tree, f.Args()[1:])
		if err == nil {
			defer g.done()
			err = g.setTimeLimit(ctx)
		}
		if err != nil {
			return c.fail(agent.Explain(err))
		}

		report := g.JudgeAll(ctx)
		report.Problem = f.Arg(0)
		report.ScaleCPU = o.factor
		report = o.rerun.Complete(g.Grading, report)
		if err := c.writeGrades(o, report); err != nil {
			return c.fail(err)
		}

		c.noteMissing(o.quiet, report)
		var s interrupted
		switch {
		case errors.As(context.Cause(ctx), &s):
			return s.exit()
		case !report.AllJudged():
			return 1
		}

		return 0
	})
}

// noteMissing names those who handed in nothing.
func (c *cli) noteMissing(quiet bool, r grade.Report) {
	var names []string
	for _, row := range r.Submissions {
		if row.Status == grade.Missing {
			names = append(names, row.ID)
		}
	}
	if len(names) > 0 && !quiet {
		c.note("note: not handed in: %s", strings.Join(names, ", "))
	}
}

// open opens the problem, or the files of a suite.
func (o *gradeOptions) open(c *cli, name string) (*problem.Problem, openTree, error) {
	if o.suite.report != "" {
		return openSuite(name)
	}
	return c.openProblem(name)
}

// check refuses a command line that contradicts itself, before anything is read.
func (o *gradeOptions) check(f *pflag.FlagSet) error {
	switch {
	case f.NArg() == 0:
		return errors.New("name the PROBLEM, a directory with tests, and the SUBMISSIONS")
	case f.NArg() == 1:
		return fmt.Errorf("name what to judge after %s: files, a directory or a zip archive", f.Arg(0))
	case o.words != string(grade.Judge) && o.words != string(grade.Brig):
		return fmt.Errorf("--words %s: write judge or brig", o.words)
	}

	if err := o.suite.check(o.run); err != nil {
		return err
	}

	for _, pattern := range o.ignore {
		if _, err := path.Match(pattern, "x"); err != nil {
			return fmt.Errorf("--ignore %q: %w", pattern, err)
		}
	}

	if o.run.Compare.Tolerance != 0 && o.run.Compare.How == "" {
		o.run.Compare.How = api.CompareFloat
	}

	stdout := ""
	for _, format := range gradeFormats {
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

	probe := o.run
	probe.Language, probe.Source, probe.Tests = "any", api.Bytes{}, []api.Test{{ID: "1"}}
	return probe.Validate()
}

// noteFindings prints notes about what a package has that does not matter.
func (c *cli) noteFindings(where string, all []problem.Finding) {
	for _, f := range all {
		c.note("note: %s: %s", where, f)
	}
}
