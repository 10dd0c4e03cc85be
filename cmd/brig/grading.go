package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/diagnose"
	"github.com/brig-sandbox/brig/grade"
	"github.com/brig-sandbox/brig/internal/inputfile"
	"github.com/brig-sandbox/brig/problem"
)

// A grading judges submissions on one agent.
type grading struct {
	*executor
	o      *gradeOptions
	loader grade.Loader
	run    api.Run    // what all submissions have in common
	suite  *api.Suite // nil: tests
	cases  []string   // ids of the suite's cases, if a solution of the teacher's has shown them

	submissions []grade.Submission
	names       []string      // languages of the submissions; empty: it cannot be judged
	earlier     *grade.Report // of --json=FILE, with --rerun
	done        func()        // releases the tests that were made for the package
}

const gradeOutput = 4 * api.KiB // of each stream of each test, in the report

// newGrading finds the submissions and their languages, and reads what they are judged by.
func (c *cli) newGrading(ctx context.Context, agent *agentHandle, o *gradeOptions, p *problem.Problem, tree *problem.Tree, args []string) (*grading, error) {
	x, err := c.newExecutor(ctx, agent, o.wait, o.noBuild)
	if err != nil {
		return nil, err
	}
	g := &grading{executor: x, o: o, loader: grade.Loader{Problem: p, Tree: tree, Put: x.put(ctx)}, done: func() {}}
	if o.suite.report != "" {
		o.run.Language = o.suite.language(o.run.Language)
	}
	if o.run.Language != "" {
		if _, err := languageOf(x.languages, o.run.Language, source{}); err != nil {
			return nil, err
		}
	}
	var tests *problem.Tree
	if o.suite.report != "" {
		tests = tree
	}
	if g.submissions, err = findSubmissions(o.finder(x.languages, tests), args); err != nil {
		return nil, err
	}
	if err := g.selectRerun(); err != nil {
		return nil, err
	}
	if err := g.prepareSuite(ctx); err != nil {
		return nil, err
	}
	g.names = make([]string, len(g.submissions))
	for i := range g.submissions {
		if s := &g.submissions[i]; s.Err == nil {
			var l api.Language
			if l, s.Err = x.prepare(ctx, o.run.Language, source{ext: filepath.Ext(s.Main), interpreter: interpreter(s.Text)}); s.Err == nil {
				g.names[i] = l.Name
			}
		}
	}
	if g.loader.Problem, g.loader.Tree, g.done, err = x.whole(ctx, o.quiet, p, tree); err != nil {
		return nil, err
	}
	if err := g.readProblem(ctx); err != nil {
		g.done()
		return nil, err
	}
	return g, nil
}

// readProblem fills in what all submissions have in common. What the command line says takes precedence
// over the package.
func (g *grading) readProblem(ctx context.Context) error {
	common, err := g.loader.Common()
	if err != nil {
		return fmt.Errorf("%s: %w", g.loader.Tree.Label(), withSizeRemedy(err))
	}
	if err := g.prepareChecker(ctx, common); err != nil {
		return err
	}
	g.run = g.o.run
	g.run.KeepOutput, g.run.Collect.None = gradeOutput, true
	grade.Apply(&g.run, common, g.loader.Problem.Limits.Time, g.ceiling)
	return nil
}

// prepareChecker builds the image of the checker or interactor, if it is missing.
func (x *executor) prepareChecker(ctx context.Context, r api.Run) error {
	language := ""
	if r.Check != nil {
		language = r.Check.Language
	}
	if r.Interactor != nil {
		language = r.Interactor.Language
	}
	if language == "" {
		return nil
	}
	_, err := x.prepare(ctx, language, source{})
	return err
}

// selectRerun keeps the submissions that --rerun names, and reads what is known of the others.
func (g *grading) selectRerun() error {
	if len(g.o.rerun) == 0 {
		return nil
	}
	var known []string
	for _, s := range g.submissions {
		known = append(known, s.Name)
	}
	for i, name := range g.o.rerun {
		if !slices.Contains(known, name) {
			short := strings.TrimSuffix(filepath.Base(name), filepath.Ext(name))
			if !slices.Contains(known, short) {
				return fmt.Errorf("--rerun %s: there is no such submission%s", name, suggestion(name, known))
			}
			g.o.rerun[i] = short
		}
	}
	g.submissions = slices.DeleteFunc(g.submissions, func(s grade.Submission) bool { return !slices.Contains(g.o.rerun, s.Name) })
	file := *g.o.outputs["json"]
	if file == "" || file == "-" {
		return nil
	}
	text, err := inputfile.Read(file, maxAnswerFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	g.earlier = new(grade.Report)
	if err := json.Unmarshal(text, g.earlier); err != nil {
		return fmt.Errorf("--json %s is no report of brig grade: %w", file, err)
	}
	return nil
}

const maxAnswerFile = 1 << 30 // of a report that --rerun completes

// withEarlier is the report with the rows that --json=FILE has of the submissions that were not judged
// again.
func (g *grading) withEarlier(r grade.Report) grade.Report {
	if g.earlier == nil {
		return r
	}
	if !slices.Equal(g.earlier.Tests, r.Tests) || g.earlier.ScaleCPU != r.ScaleCPU {
		g.c.note("note: %s is of other tests or limits: it is replaced", *g.o.outputs["json"])
		return r
	}
	all := grade.Report{Problem: r.Problem, ScaleCPU: r.ScaleCPU, Tests: r.Tests, Submissions: g.earlier.Submissions}
	for _, row := range r.Submissions {
		all.Replace(row)
	}
	return all
}

// judgeAll judges the submissions, as many at once as the agent has slots.
func (g *grading) judgeAll(ctx context.Context) grade.Report {
	rows := make([]grade.Row, len(g.submissions))
	shown := g.c.gradeProgress(g.o.quiet, "submission", len(rows), len(rows)*len(g.run.Tests))
	g.each(len(rows), func(i int) { rows[i] = g.judge(ctx, g.submissions[i], g.names[i], shown) })
	shown.end()
	report := grade.Report{Submissions: rows}
	for _, t := range g.run.Tests {
		report.Tests = append(report.Tests, t.ID)
	}
	if g.suite != nil {
		report.Tests = g.columns(rows)
	}
	return report
}

// judge judges one submission.
func (g *grading) judge(ctx context.Context, s grade.Submission, language string, shown *gradeProgress) grade.Row {
	count := shown.submission(len(g.run.Tests))
	defer count.end()
	row := func(r grade.Row) grade.Row {
		r.Source, r.Language = s.Main, language
		return r
	}
	r, err := g.request(s, language)
	switch {
	case errors.Is(err, grade.ErrNotHandedIn):
		return row(grade.NotJudged(s.Name, grade.Missing, asError(err)))
	case err != nil:
		return row(grade.NotJudged(s.Name, grade.Refused, asError(err)))
	}
	res, e := g.execute(ctx, r, count.test)
	switch {
	case e == nil && g.suite != nil:
		one := row(grade.Judged(s.Name, g.readSuite(res)))
		one.Why = tellingLine(g.why(ctx, *one.Result, one.First))
		return one
	case e == nil:
		diagnose.Annotate(language, r.SourceName, r.Source, &res)
		if r.SourceName == "" {
			withSourceName(&res, s.Main)
		}
		one := row(grade.Judged(s.Name, res))
		one.Why = g.why(ctx, res, one.First)
		return one
	case ctx.Err() != nil:
		return row(grade.NotJudged(s.Name, grade.Canceled, e))
	case e.RetrySafe:
		return row(grade.NotJudged(s.Name, grade.Failed, e))
	}
	return row(grade.NotJudged(s.Name, grade.Refused, e))
}

// request is the run that judges a submission.
func (g *grading) request(s grade.Submission, language string) (r api.Run, err error) {
	if s.Err != nil {
		return r, s.Err
	}
	if err := g.loader.Allowed(s, language); err != nil {
		return r, err
	}
	r = g.run
	r.Language, r.Source = language, sourceBytes(g.loader.Source(language, s.Text))
	if len(r.Flags) == 0 {
		r.Flags = g.loader.Flags(language)
	}
	if g.suite != nil {
		return g.suiteRequest(r, s)
	}
	if r.Files, err = g.loader.Included(language, s.Files); err != nil {
		return r, err
	}
	r.SourceName = g.sourceName(language, s.Main, len(r.Files), r.Tests)
	return r, nil
}

// why says in one line why the first test that was not accepted failed, or why none ran.
func (g *grading) why(ctx context.Context, res api.Result, first string) string {
	if res.Verdict == api.Canceled {
		if err := context.Cause(ctx); err != nil {
			return err.Error()
		}
		return "it was canceled"
	}
	for _, one := range res.Tests {
		if one.ID == first {
			return failureText(one)
		}
	}
	if d := res.Diagnosis; d != nil && res.Verdict == api.CompileError {
		return positionText(*d) + d.Message
	}
	if res.Verdict == api.CompileError {
		_, why, _ := strings.Cut(verdictText(res, ""), ": ")
		return why
	}
	return ""
}

// writeGrades writes the report in each format that is wanted, and the table unless one of them goes to
// stdout.
func (c *cli) writeGrades(o *gradeOptions, r grade.Report) error {
	words := grade.Words(o.words)
	write := map[string]func(io.Writer) error{
		"csv":   func(w io.Writer) error { return r.WriteCSV(w, words) },
		"html":  func(w io.Writer) error { return r.WriteHTML(w, words) },
		"junit": r.WriteJUnit,
		"json": func(w io.Writer) error {
			_, err := w.Write(marshal(r))
			return err
		},
	}
	table := true
	var failed error
	for _, format := range gradeFormats {
		file := *o.outputs[format]
		if file == "" {
			continue
		}
		var text bytes.Buffer
		err := write[format](&text)
		if file == "-" {
			table = false
			c.stdout.Write(text.Bytes())
		} else if err == nil {
			err = writeOutput(file, text.Bytes())
		}
		if err != nil { // the other formats are written all the same: judging took time
			failed = errors.Join(failed, fmt.Errorf("--%s: %w", format, err))
		}
	}
	if table {
		failed = errors.Join(failed, r.WriteTable(c.stdout, words, terminalWidth(c.stdout), oneLine))
	}
	return failed
}

// terminalWidth is the number of columns of a terminal; zero if w is none.
func terminalWidth(w any) int {
	f, ok := underlying(w).(*os.File)
	if !ok || !isTerminal(w) {
		return 0
	}
	raw, err := f.SyscallConn()
	if err != nil {
		return 0
	}
	width := 0
	_ = raw.Control(func(fd uintptr) { // a terminal that has gone has no width
		if size, err := unix.IoctlGetWinsize(int(fd), unix.TIOCGWINSZ); err == nil {
			width = int(size.Col)
		}
	})
	return width
}
