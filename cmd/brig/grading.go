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
	"sync"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/agent/client"
	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/diagnose"
	"github.com/brig-sandbox/brig/grade"
	"github.com/brig-sandbox/brig/internal/inputfile"
)

// A grading judges submissions on one agent.
type grading struct {
	c     *cli
	o     *gradeOptions
	agent *agentHandle
	run   api.Run // what all submissions have in common
	slots int     // of the agent

	submissions []grade.Submission
	languages   []string      // of each submission; empty: it cannot be judged
	earlier     *grade.Report // of --json=FILE, with --rerun
}

const gradeOutput = 4 * api.KiB // of each stream of each test, in the report

// newGrading finds the submissions and their languages, and builds the images that are missing.
func (c *cli) newGrading(ctx context.Context, agent *agentHandle, o *gradeOptions, args []string) (*grading, error) {
	g := &grading{c: c, o: o, agent: agent, run: o.run}
	g.run.KeepOutput = gradeOutput
	g.run.Collect.None = true
	all, err := agent.Languages(ctx)
	if err != nil {
		return nil, err
	}
	if o.run.Language != "" {
		if _, err := languageOf(all, o.run.Language, source{}); err != nil {
			return nil, err
		}
	}
	if g.submissions, err = o.findSubmissions(all, args); err != nil {
		return nil, err
	}
	if err := g.selectRerun(); err != nil {
		return nil, err
	}
	health, err := agent.Health(ctx)
	if err != nil {
		return nil, err
	}
	g.slots = max(health.Slots, 1)
	g.languages = make([]string, len(g.submissions))
	built := map[string]error{}
	for i, s := range g.submissions {
		if s.Err != nil {
			continue
		}
		l, err := languageOf(all, o.run.Language, source{ext: filepath.Ext(s.Main), interpreter: interpreter(s.Text)})
		if err != nil {
			return nil, err
		}
		g.languages[i] = l.Name
		if _, done := built[l.Image]; !done && !l.Stored && !o.noBuild {
			built[l.Image] = c.buildMissing(ctx, agent, l)
		}
		if err := built[l.Image]; err != nil {
			g.submissions[i].Err = err
		}
	}
	return g, nil
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
	if !slices.Equal(g.earlier.Tests, r.Tests) {
		g.c.note("note: %s is of other tests: it is replaced", *g.o.outputs["json"])
		return r
	}
	all := grade.Report{Problem: r.Problem, Tests: r.Tests, Submissions: g.earlier.Submissions}
	for _, row := range r.Submissions {
		all.Replace(row)
	}
	return all
}

// judgeAll judges the submissions, as many at once as the agent has slots.
func (g *grading) judgeAll(ctx context.Context) grade.Report {
	rows := make([]grade.Row, len(g.submissions))
	shown := g.c.gradeProgress(g.o.quiet, len(rows), len(rows)*len(g.run.Tests))
	next := make(chan int)
	var workers sync.WaitGroup
	for range min(g.slots, len(rows)) {
		workers.Go(func() {
			for i := range next {
				rows[i] = g.judge(ctx, g.submissions[i], g.languages[i], shown)
			}
		})
	}
	for i := range rows {
		next <- i
	}
	close(next)
	workers.Wait()
	shown.end()
	return grade.Report{Submissions: rows}
}

// gradeAttempts is how often a submission is tried if brig fails, which says nothing about it.
const gradeAttempts = 3

// judge judges one submission.
func (g *grading) judge(ctx context.Context, s grade.Submission, language string, shown *gradeProgress) grade.Row {
	count := shown.submission(len(g.run.Tests))
	defer count.end()
	row := func(r grade.Row) grade.Row {
		r.Source, r.Language = s.Main, language
		return r
	}
	if s.Err != nil {
		return row(grade.NotJudged(s.Name, grade.Refused, asError(s.Err)))
	}
	r := g.run
	r.Language, r.Source, r.SourceName, r.Files = language, sourceBytes(s.Text), s.Main, s.Files
	for attempt := 1; ; attempt++ {
		if err := context.Cause(ctx); err != nil {
			return row(grade.NotJudged(s.Name, grade.Canceled, asError(err)))
		}
		res, err := retryUntil(ctx, g.o.wait, nil, func() (api.Result, error) {
			return g.agent.RunEvents(ctx, r, bytes.NewReader(nil), client.Events{Test: func(api.TestResult) { count.test() }})
		})
		if err == nil {
			diagnose.Annotate(language, s.Main, r.Source, &res)
			one := row(grade.Judged(s.Name, res))
			one.Why = g.why(ctx, res, one.First)
			return one
		}
		e := asError(g.agent.explain(err))
		switch {
		case ctx.Err() != nil:
			return row(grade.NotJudged(s.Name, grade.Canceled, asError(context.Cause(ctx))))
		case !e.RetrySafe:
			return row(grade.NotJudged(s.Name, grade.Refused, e))
		case attempt == gradeAttempts || api.HasCode(e, api.CodeBusy, api.CodeOverloaded):
			return row(grade.NotJudged(s.Name, grade.Failed, e))
		}
	}
}

// asError is err as brig writes it in JSON.
func asError(err error) *api.Error {
	var e *api.Error
	if errors.As(err, &e) {
		return e
	}
	return api.Refuse(api.CodeBadRequest, "%w", err)
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
