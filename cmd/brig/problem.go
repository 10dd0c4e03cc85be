package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/grade"
	"github.com/brig-sandbox/brig/problem"
	"github.com/brig-sandbox/brig/problem/format"
)

const problemUsage = `
Read and verify packages of programming problems: of the Kattis problem package format
(legacy, legacy-icpc, 2023-07-draft, 2025-09), full packages of Polygon, tasks of CMS in the
italian YAML format, and problems of DMOJ.

Usage:
  brig problem show PACKAGE
  brig problem verify PACKAGE
  brig problem import PACKAGE
  brig problem convert PACKAGE --to kattis --out DIR
  brig problem ls
  brig problem rm NAME...

PACKAGE is a directory, an archive of one, or the name of a problem that was imported.

Examples:
  brig problem show different/
  brig problem show different.zip --json
  brig problem verify different/
  brig problem import different.zip --name week3

To judge submissions against a package: brig grade DIR SUBMISSIONS...`

func problemCommand(c *cli) *cobra.Command {
	return c.group("problem", problemUsage, problemCommands())
}

func problemCommands() []command {
	return []command{
		{name: "show", short: "print what a package says, in brig's words", make: problemShowCommand},
		{name: "import", short: "store a package under a name", make: problemImportCommand},
		{name: "ls", short: "list the problems that were imported", make: problemListCommand},
		{name: "rm", short: "remove problems that were imported", make: problemRemoveCommand},
		{name: "convert", short: "write a package in another format", make: problemConvertCommand},
		{name: "verify", short: "run the programs of a package, and say what is wrong with it", make: problemVerifyCommand},
	}
}

const problemShowUsage = `
Print what a problem package says, in brig's words. Nothing of the package is executed.
Mistakes are listed with file, line and the part of the format's specification.

Usage:
  brig problem show [--json] DIR

Examples:
  brig problem show different/
  brig problem show different.zip --json

Exit codes: 0 if the package can be read, 125 if it has a mistake.`

func problemShowCommand(c *cli) *cobra.Command {
	k, f := newCommand("problem show", problemShowUsage)
	asJSON := f.Bool("json", false, "print JSON")
	return c.does(k, func() int {
		if f.NArg() != 1 {
			return c.hint("problem show", errors.New("name one package: a directory, an archive, or the name of an imported problem"))
		}
		p, tree, err := c.openProblem(f.Arg(0))
		if err != nil {
			return c.fail(err)
		}
		defer tree.Close()
		if *asJSON {
			c.stdout.Write(marshal(p))
			return 0
		}
		showProblem(c.text(), *p)
		return 0
	})
}

// An openTree is the tree of a package that is open.
type openTree struct {
	*problem.Tree
	whole *problem.Tree
}

// Close closes what the tree is part of.
func (t openTree) Close() error { return t.whole.Close() }

// openProblem opens and reads a package, a directory of tests, or a problem that was imported. The caller closes the tree.
func (c *cli) openProblem(name string) (*problem.Problem, openTree, error) {
	whole, err := c.openPackage(name)
	if err != nil {
		return nil, openTree{}, err
	}
	p, tree, err := format.Read(whole)
	if err != nil {
		return nil, openTree{}, errors.Join(err, whole.Close())
	}
	return p, openTree{tree, whole}, nil
}

// showProblem prints a package for people.
func showProblem(w io.Writer, p problem.Problem) {
	line := func(name, format string, args ...any) {
		fmt.Fprintf(w, "%-12s %s\n", name, oneLine(fmt.Sprintf(format, args...)))
	}
	line("problem", "%s", p.Name)
	if p.Title != "" && p.Title != p.Name {
		line("title", "%s", p.Title)
	}
	line("format", "%s", p.Format)
	line("type", "%s", kindOf(p))
	line("limits", "%s", limitsOf(p.Limits))
	if len(p.Languages) > 0 {
		line("languages", "%s", strings.Join(p.Languages, ", "))
	}
	line("judged by", "%s", judgeOf(p))
	samples := 0
	for _, t := range p.Tests {
		if t.Sample {
			samples++
		}
	}
	line("tests", "%d, %d of them samples", len(p.Tests), samples)
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
	}{{"invalid inputs", p.InvalidInputs}, {"invalid outputs", p.InvalidOutputs}, {"valid outputs", p.ValidOutputs}} {
		if len(set.tests) > 0 {
			line("also", "%d %s for the validators", len(set.tests), set.what)
		}
	}
	for _, in := range p.Include {
		line("include", "%d files for %s", len(in.Files), orDefault(in.Language, "other languages"))
	}
	if len(p.Jury) > 0 {
		fmt.Fprintln(w, "submissions")
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		for _, j := range p.Jury {
			fmt.Fprintf(t, "  %s\t%s\t%s\n", oneLine(j.Path), orDefault(j.Language, "-"), oneLine(expectText(j)))
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
	if p.Passes > 0 {
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
		parts[0] += fmt.Sprintf(" (at least %vx the slowest accepted, at most 1/%v of the fastest too slow, in steps of %s)", l.Timing.Accepted, l.Timing.TooSlow, l.Timing.Resolution)
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
		return "its interactor " + programText(*p.Interactor) + " and then its checker " + programText(*p.Checker) + ", protocol " + p.Checker.Protocol
	case p.Checker != nil && p.Interactive:
		return "its interactor " + programText(*p.Checker) + ", protocol " + p.Checker.Protocol
	case p.Checker != nil:
		return "its checker " + programText(*p.Checker) + ", protocol " + p.Checker.Protocol
	case p.Compare != nil && p.Compare.How != "":
		return strings.TrimSpace("comparison " + p.Compare.How + " " + strings.Join(p.Compare.Args, " "))
	}
	return "comparison of lines"
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
	text := fmt.Sprintf("%s: %d tests, %s", g.ID, n, g.How)
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

// expectText says what must come of a jury submission.
func expectText(j problem.Jury) string {
	if j.Skip != "" {
		return "skipped: " + j.Skip
	}
	var all []string
	for _, e := range j.Expect {
		var parts []string
		switch {
		case slices.Equal(e.Permitted, []string{"AC"}):
			parts = append(parts, "accepted")
		case len(e.Permitted) > 0:
			parts = append(parts, "only "+strings.Join(e.Permitted, " "))
		}
		if len(e.Required) > 0 {
			parts = append(parts, "at least one "+strings.Join(e.Required, " or "))
		}
		if e.Score != nil {
			parts = append(parts, grade.ScoreText(*e.Score)+" points")
		}
		if e.Partial {
			parts = append(parts, "less than all points")
		}
		if e.Message != "" {
			parts = append(parts, fmt.Sprintf("message %q", e.Message))
		}
		text := strings.Join(parts, ", ")
		if e.Tests != "" {
			text = e.Tests + ": " + text
		}
		all = append(all, text)
	}
	if len(all) == 0 {
		return "nothing is expected"
	}
	return strings.Join(all, "; ")
}
