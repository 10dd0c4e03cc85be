package judging

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/cmd/brig/cli"
	"github.com/brig-sandbox/brig/internal/terminal"
	"github.com/brig-sandbox/brig/judge/grade"
	"github.com/brig-sandbox/brig/judge/problem"
	"github.com/brig-sandbox/brig/judge/problem/format"
)

const problemUsage = `
Read and verify packages of programming problems: of the Kattis problem package format
(legacy, legacy-icpc, 2023-07-draft, 2025-09), packages of Polygon, tasks of CMS in the
italian YAML format, and problems of DMOJ.

Usage:
  brig problem show PACKAGE
  brig problem verify PACKAGE
  brig problem import PACKAGE
  brig problem generate PACKAGE --out FILE
  brig problem convert PACKAGE --to kattis --out DIR
  brig problem ls
  brig problem rm NAME...

PACKAGE is a directory, an archive of one, or the name of a problem that was imported.

Examples:
  brig problem show different/
  brig problem show different.zip --json
  brig problem verify different/
  brig problem import different.zip --name week3

To judge submissions against a package: brig grade PACKAGE SUBMISSIONS...`

// ProblemCommand makes brig problem.
func ProblemCommand(c *cli.CLI) *cobra.Command {
	return c.Group("problem", problemUsage, problemCommands())
}

func problemCommands() []cli.Command {
	return []cli.Command{
		{Name: "show", Short: "print what a package says, in brig's words", Make: problemShowCommand},
		{Name: "import", Short: "store a package under a name", Make: problemImportCommand},
		{Name: "ls", Short: "list the problems that were imported", Make: problemListCommand},
		{Name: "rm", Short: "remove problems that were imported", Make: problemRemoveCommand},
		{Name: "generate", Short: "make the tests that a package has generators for, and build its programs", Make: problemGenerateCommand},
		{Name: "convert", Short: "write a package in another format", Make: problemConvertCommand},
		{Name: "verify", Short: "run the programs of a package, and say what is wrong with it", Make: problemVerifyCommand},
	}
}

const problemShowUsage = `
Print what a problem package says, in brig's words. Nothing of the package is executed.
Mistakes are listed with file, line and the part of the format's specification.

Usage:
  brig problem show [--json] PACKAGE

Examples:
  brig problem show different/
  brig problem show different.zip --json

Exit codes: 0 if the package can be read, 125 if it has a mistake.`

func problemShowCommand(c *cli.CLI) *cobra.Command {
	k, f := cli.NewCommand("problem show", problemShowUsage)
	asJSON := cli.JSONFlag(f)
	return c.Does(k, func() int {
		if f.NArg() != 1 {
			return c.Hint("problem show",
				errors.New("name one package: a directory, an archive, or the name of an imported problem"))
		}

		p, tree, err := OpenProblem(c, f.Arg(0))
		if err != nil {
			return c.Fail(err)
		}
		defer tree.Close()

		if *asJSON {
			c.Stdout.Write(cli.Marshal(p))
			return 0
		}

		showProblem(c.Text(), *p)
		return 0
	})
}

// An OpenTree is the tree of a package that is open.
type OpenTree struct {
	*problem.Tree
	whole *problem.Tree
}

// Close closes what the tree is part of.
func (t OpenTree) Close() error { return t.whole.Close() }

// OpenProblem opens and reads a package, a directory of tests, or a problem that was imported. The caller closes the tree.
func OpenProblem(c *cli.CLI, name string) (*problem.Problem, OpenTree, error) {
	whole, err := openPackage(c, name)
	if err != nil {
		return nil, OpenTree{}, err
	}
	p, tree, err := format.Read(whole)
	if err != nil {
		return nil, OpenTree{}, errors.Join(err, whole.Close())
	}
	return p, OpenTree{tree, whole}, nil
}

// showProblem prints a package for people.
func showProblem(w io.Writer, p problem.Problem) {
	line := func(name, format string, args ...any) {
		fmt.Fprintf(w, "%-12s %s\n", name, terminal.OneLine(fmt.Sprintf(format, args...)))
	}
	line("problem", "%s", p.Name)
	if p.Title != "" && p.Title != p.Name {
		line("title", "%s", p.Title)
	}

	line("format", "%s", p.Format)
	line("type", "%s", kindOf(p))
	if p.InputFile != "" || p.OutputFile != "" {
		line("files", "input in %s, output in %s", cmp.Or(p.InputFile, "stdin"), cmp.Or(p.OutputFile, "stdout"))
	}

	line("limits", "%s", limitsOf(p.Limits))
	if len(p.Languages) > 0 {
		line("languages", "%s", strings.Join(p.Languages, ", "))
	}

	line("judged by", "%s", judgeOf(p))
	samples, own := 0, 0
	for _, t := range p.Tests {
		if t.Sample {
			samples++
		}
		if len(t.Files) > 0 {
			own++
		}
	}

	line("tests", "%d, %d of them samples", len(p.Tests), samples)
	if own > 0 {
		line("also", "%s with files of their own", problem.Count(own, "test"))
	}
	if g := p.Generate; g != nil {
		line("to be made", "%s", generationText(*g))
	}

	members := p.Members()
	for _, g := range p.Groups {
		line("group", "%s", groupText(g, len(members[g.ID])))
	}

	for _, v := range p.Validators {
		line("validator", "%s", programText(v))
	}

	for _, set := range []struct {
		what  string
		tests []problem.Test
	}{{"invalid input", p.InvalidInputs}, {"invalid output", p.InvalidOutputs}, {"valid output", p.ValidOutputs}} {
		if len(set.tests) > 0 {
			line("also", "%s for the validators", problem.Count(len(set.tests), set.what))
		}
	}

	for _, in := range p.Include {
		line("include", "%s for %s", problem.Count(len(in.Files), "file"), cmp.Or(in.Language, "other languages"))
	}

	if len(p.Jury) > 0 {
		fmt.Fprintln(w, "submissions")
		t := cli.AlignedTable(w)
		for _, j := range p.Jury {
			fmt.Fprintf(t, "  %s\t%s\t%s\n", terminal.OneLine(j.Path), cmp.Or(j.Language, "-"),
				terminal.OneLine(grade.ExpectText(j)))
		}
		t.Flush()
	}

	for _, f := range p.Warnings {
		line("warning", "%s", f)
	}
}

func kindOf(p problem.Problem) string {
	kind := []string{"pass or fail"}
	if p.Scoring {
		kind[0] = "with points"
	}
	if p.Interactive {
		kind = append(kind, "interactive")
	}

	switch {
	case p.Passes == 2 && p.Checker != nil && p.Checker.Protocol == string(api.ProtocolTestlib):
		kind = append(kind, "the program runs twice")
	case p.Passes > 0:
		kind = append(kind, fmt.Sprintf("at most %d passes", p.Passes))
	}

	return strings.Join(kind, ", ")
}

func limitsOf(l problem.Limits) string {
	time := "from jury submissions"
	switch {
	case l.Time > 0:
		time = l.Time.String()
	case l.Timing == (problem.Timing{}):
		time = "not set"
	}

	parts := []string{"time " + time}
	if l.Timing.Accepted > 0 {
		parts[0] += fmt.Sprintf(" (at least %vx the slowest accepted, at most 1/%v of the fastest too slow, in steps of %s)",
			l.Timing.Accepted, l.Timing.TooSlow, l.Timing.Resolution)
	}

	for _, one := range []struct {
		name string
		size api.Size
	}{{"memory", l.Memory}, {"output", l.Output}, {"source", l.Code}} {
		if one.size > 0 {
			parts = append(parts, one.name+" "+one.size.String())
		}
	}

	return strings.Join(parts, ", ")
}

func judgeOf(p problem.Problem) string {
	switch {
	case p.Interactor != nil:
		return "its interactor " + programText(*p.Interactor) + " and then its checker " + programText(*p.Checker) +
			", protocol " + p.Checker.Protocol
	case p.ProgramIO != "" && p.Checker != nil:
		with := "one process"
		if p.Processes > 1 {
			with = fmt.Sprintf("%d processes", p.Processes)
		}
		return "its manager " + programText(*p.Checker) + ", which talks with " + with + " over " + p.ProgramIO

	case p.Checker != nil && p.Interactive:
		return "its interactor " + programText(*p.Checker) + ", protocol " + p.Checker.Protocol
	case p.Checker != nil:
		return "its checker " + programText(*p.Checker) + ", protocol " + p.Checker.Protocol
	case p.Compare != nil && p.Compare.How != "":
		return strings.TrimSpace("comparison " + p.Compare.How + " " + strings.Join(p.Compare.Args, " "))
	}

	return "comparison of lines"
}

// generationText says which files of the tests are made by what.
func generationText(g problem.Generation) string {
	var parts, names []string
	for _, p := range g.Generators {
		names = append(names, programText(p))
	}

	if len(g.Builds) > 0 {
		var builds []string
		for _, p := range g.Builds {
			builds = append(builds, p.Main)
		}
		parts = append(parts, "programs by "+strings.Join(builds, ", "))
	}
	if len(g.Inputs) > 0 {
		parts = append(parts, fmt.Sprintf("%s by %s", problem.Count(len(g.Inputs), "input"), strings.Join(names, ", ")))
	}
	if len(g.Answers) > 0 {
		parts = append(parts, fmt.Sprintf("%s by %s", problem.Count(len(g.Answers), "answer"), g.Solution))
	}
	return strings.Join(parts, "; ")
}

func programText(p problem.Program) string {
	text := p.Name
	if p.Language != "" {
		text += " (" + p.Language + ")"
	}
	if p.Skip != "" {
		text += ": not run: " + p.Skip
	}
	return text
}

func groupText(g problem.Group, n int) string {
	text := fmt.Sprintf("%s: %s, %s", g.ID, problem.Count(n, "test"), g.How)
	if len(g.Groups) > 0 {
		text = fmt.Sprintf("%s: %s of %s", g.ID, g.How, strings.Join(g.Groups, ", "))
	}
	if g.Points > 0 {
		text += fmt.Sprintf(", at most %v points", g.Points)
	}
	if len(g.Requires) > 0 {
		text += ", requires " + strings.Join(g.Requires, ", ")
	}
	if g.Stop {
		text += ", stops at a failure"
	}
	return text
}
