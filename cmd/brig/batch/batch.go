// Package batch has the commands of batches and of their workers.
package batch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/batch"
	"github.com/brig-sandbox/brig/batch/dataset"
	"github.com/brig-sandbox/brig/batch/metrics"
	"github.com/brig-sandbox/brig/batch/worker"
	"github.com/brig-sandbox/brig/cmd/brig/cli"
	"github.com/brig-sandbox/brig/internal/terminal"
)

const batchUsage = `
Judge many jobs: read them from lines of JSON, and write a line of JSON for each.

Usage:
  brig batch [flags] JOBS.jsonl|-

A job has the fields of POST /v1/runs and an id: {"id": "ann-1", "language": "python",
"source": "print(input())", "tests": [{"stdin": "hi", "expected": "hi"}]}. A first line
{"defaults": {...}} has fields that all jobs share. With --problem the tests are those of
a package or a directory (see brig grade).

Each job has one line of results, whose status is done (it was judged, whatever came of
it), refused (the job is wrong), error (brig failed, each time) or canceled. Only a job
that is done has a score. Lines are on disk before they count: a batch that was killed
goes on with --resume, and nothing is judged twice that has its line.

Jobs that ask for a network or for packages are refused, unless --network, --packages and
--index permit it: their connections are this machine's.

Examples:
  sudo brig batch jobs.jsonl
  sudo brig batch jobs.jsonl --resume
  sudo brig batch --problem hw3/ submissions.jsonl --ordered
  sudo brig batch jobs.jsonl --resume --retry error
  sudo brig batch --from humaneval HumanEval.jsonl.gz --completions samples.jsonl
  generate | sudo brig batch - -o - | train

Exit codes: 0 if every job is done; 1 if one is refused, error or canceled; 125 if the
batch could not go on, and 130 if it was interrupted: then --resume goes on.`

// batchOptions is the command line of brig batch.
type batchOptions struct {
	in, out string
	run     api.Run // what all jobs have in common

	resume, ordered, strict, urgent bool
	retry                           []string
	problem                         string
	keep                            string
	keepOutput                      api.Size
	maxAttempts                     int
	summary                         string
	quiet, json, noBuild            bool

	id      string // of the batch; empty: it is not known yet
	dataset datasetOptions
	engine  engineOptions
	local   string
	permits worker.Permits
	metrics string
	socket  string
}

func (o *batchOptions) register(f *pflag.FlagSet, env func(string) string) {
	f.StringVarP(&o.out, "out", "o", "",
		"write the results to this `FILE`; -: stdout (default: the input's name with .results.jsonl)")
	f.BoolVar(&o.resume, "resume", false, "go on with a batch whose file of results exists")
	f.StringSliceVar(&o.retry, "retry", nil,
		"with --resume, judge again the jobs with a `STATUS`: error, canceled or refused (repeatable, or with commas)")
	f.StringVar(&o.problem, "problem", "",
		"take tests, limits and checker from this `PATH`, a directory or zip (see brig grade)")
	f.StringVarP(&o.run.Language, "language", "l", "", "`NAME` of the language of jobs that have none")
	cli.LimitFlags(f, &o.run.Limits, nil, api.OfBoth, api.OfExec, api.OfSession)
	f.BoolVar(&o.run.StopAtFailure, "stop-at-failure", false, "start no further test of a job after one was not accepted")
	f.BoolVar(&o.ordered, "ordered", false, "write results in the order of the jobs")
	f.StringVar(&o.keep, "keep", "result", "what a line has of a result: result (all), or summary")
	f.Var(&o.keepOutput, "keep-output", "`SIZE` of each stream of each test that a line has (default 4K)")
	f.BoolVar(&o.urgent, "urgent", false, "have workers take these jobs before those of other batches")
	f.IntVar(&o.maxAttempts, "max-attempts", batch.DefaultAttempts,
		"most attempts of a job whose worker ended; after them it is an error")
	f.BoolVar(&o.strict, "strict", false, "end at a line that is no job, instead of writing that it is refused")
	f.StringVar(&o.summary, "summary", "", "write the summary as JSON to this `FILE`")
	f.BoolVar(&o.json, "json", false, "print the summary as JSON; not with -o -")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "print no progress and no summary")
	f.BoolVar(&o.noBuild, "no-build", false, "do not build or pull missing language images")
	f.StringVar(&o.local, "local", "",
		"`NUMBER` of jobs that run on this machine at once, or none (default: the slots of the agent)")
	permitFlags(f, &o.permits)
	o.dataset.register(f)
	f.Lookup("from").Usage = "the input is a data set, and this the `NAME` of its format (see brig convert)"
	o.engine.register(f, env)
	f.StringVar(&o.engine.listen, "engine-listen", "",
		"let workers on other machines take jobs: `ADDRESS`, such as 10.0.0.1:4222 (see brig worker)")
	keysFlag(f, &o.engine.keys)
	metricsFlag(f, &o.metrics)
	cli.SocketVar(f, &o.socket)
}

// Command makes brig batch.
func Command(c *cli.CLI) *cobra.Command {
	o := new(batchOptions)
	k, f := cli.NewCommand("batch", batchUsage)
	o.register(f, c.Env)
	return c.Does(k, func() int {
		err := o.check(f)
		if err == nil {
			err = cli.RefuseExplicitZero(f)
		}
		if err != nil {
			return c.Hint("batch", err)
		}
		return runBatch(c, o)
	})
}

// check refuses a command line that contradicts itself, before anything is read.
func (o *batchOptions) check(f *pflag.FlagSet) error {
	if f.NArg() != 1 {
		return errors.New("name one file of jobs, JSON lines; -: stdin")
	}

	o.in = f.Arg(0)

	switch {
	case o.out == "" && o.in == "-":
		return errors.New("with jobs from stdin, say where the results go: -o FILE, or -o - for stdout")
	case o.out == "":
		o.out = strings.TrimSuffix(strings.TrimSuffix(o.in, ".gz"), ".jsonl") + ".results.jsonl"
	case o.resume && o.out == "-":
		return errors.New("--resume needs the file of results: what went to stdout is not known")
	case o.json && o.out == "-":
		return errors.New("--json and -o - both write to stdout: use --summary FILE")
	case o.out == o.in && o.in != "-":
		return errors.New("the results would replace the jobs: name another file with -o")
	}

	if len(o.retry) > 0 && o.ordered {
		return errors.New("--ordered with --retry: results of jobs that are judged again come after the others")
	}
	if len(o.retry) > 0 && !o.resume {
		return errors.New("--retry judges jobs of an earlier batch again: add --resume")
	}

	for _, s := range o.retry {
		if !slices.Contains([]string{"error", "canceled", "refused"}, s) {
			return fmt.Errorf("--retry %s: write error, canceled or refused", s)
		}
	}

	if o.dataset.from != "" {
		if err := o.dataset.check(o.in); err != nil {
			return err
		}
		o.dataset.read.Language = o.run.Language
	} else if o.dataset.completions != "" || o.dataset.read.Canonical || o.dataset.read.Markdown ||
		o.dataset.read.NoLimits {
		return errors.New("--completions, --canonical, --extract and --no-limits are about a data set: add --from")
	}

	if o.keep != "result" && o.keep != "summary" {
		return fmt.Errorf("--keep %s: write result or summary", o.keep)
	}
	if o.maxAttempts < worker.AloneFrom {
		return fmt.Errorf("--max-attempts: at least %d, because from that attempt on a job runs alone: with fewer, a "+
			"job would be an error because another job ended the worker", worker.AloneFrom)
	}
	if n, err := strconv.Atoi(o.local); o.local != "" && o.local != "none" && (err != nil || n < 1) {
		return fmt.Errorf("--local %s: write a number of jobs, or none", o.local)
	}
	if err := errors.Join(o.permits.Check(), o.engine.check()); err != nil {
		return err
	}
	if o.local == "none" && !o.engine.shared() {
		return errors.New("--local none, and no engine: nothing would execute the jobs: add --engine or --engine-listen")
	}
	return nil
}

// runBatch judges the jobs, and returns the exit code.
func runBatch(c *cli.CLI, o *batchOptions) int {
	in, err := openJobs(c, o.in)
	if err != nil {
		return c.Fail(err)
	}
	defer in.Close()

	if o.dataset.from == "" {
		if err := batch.CheckForm(o.in, in); err != nil {
			return c.Fail(err)
		}
	}

	out, done, err := o.openOutput(c)
	if err != nil {
		return c.Fail(err)
	}

	began := time.Now()
	p, err := judgeBatch(c, o, in, out, done)
	if cerr := out.Close(); err == nil {
		err = cerr
	}

	s := batch.Summarize(p, done.Len(), time.Since(began))
	var i cli.Interrupted
	if err != nil && p.Recorded == 0 && !errors.As(err, &i) { // it did not begin
		return c.Fail(errors.Join(err, o.removeEmpty()))
	}
	if errors.Is(err, batch.ErrChanged) { // it did not go on: the figures are of earlier runs
		return c.Fail(err)
	}
	if werr := writeSummary(c, o, s); werr != nil {
		err = errors.Join(err, werr)
	}

	switch {
	case errors.As(err, &i) && o.out == "-":
		c.Note("interrupted: %d jobs have their results", p.Recorded)
		return cli.ExitCanceled
	case errors.As(err, &i):
		c.Note("interrupted: %d jobs have their results; to go on: %s", p.Recorded, o.resumeCommand())
		return cli.ExitCanceled
	case err != nil && o.out != "-":
		return c.Fail(fmt.Errorf("%w; %d jobs have their results: go on with %s", err, p.Recorded, o.resumeCommand()))
	case err != nil:
		return c.Fail(err)
	case s.Refused+s.Error+s.Canceled > 0:
		if o.out != "-" && !o.quiet {
			c.Note("to judge again the jobs that are not done: %s --retry refused,error,canceled", o.resumeCommand())
		}
		return 1
	}

	return 0
}

func openJobs(c *cli.CLI, name string) (*os.File, error) {
	if name == "-" {
		if f, ok := c.Stdin.(*os.File); ok {
			return f, nil
		}
		return nil, errors.New("stdin is closed")
	}
	f, err := os.Open(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%s: there is no such file", name)
	}
	return f, err
}

func (o *batchOptions) openOutput(c *cli.CLI) (*batch.Output, *batch.Recorded, error) {
	if o.out == "-" {
		f, ok := cli.Underlying(c.Stdout).(*os.File)
		if !ok {
			return nil, nil, errors.New("stdout is closed")
		}
		return batch.NewOutput(f), new(batch.Recorded), nil
	}

	var again []api.JobStatus
	for _, s := range o.retry {
		again = append(again, api.JobStatus(s))
	}

	out, done, err := batch.OpenOutput(o.out, o.resume, again)
	if errors.Is(err, batch.ErrExists) {
		return nil, nil, fmt.Errorf("%s exists: go on with --resume, or name another file with -o", o.out)
	}
	return out, done, err
}

// removeEmpty removes the file of results of a batch that did not begin: the same command can be given again.
func (o *batchOptions) removeEmpty() error {
	if o.resume || o.out == "-" {
		return nil
	}
	if info, err := os.Lstat(o.out); err != nil || info.Size() > 0 || !info.Mode().IsRegular() {
		return nil
	}
	return os.Remove(o.out)
}

// resumeCommand is the command line that goes on.
func (o *batchOptions) resumeCommand() string {
	words := os.Args
	if !slices.Contains(words, "--resume") {
		words = append(slices.Clone(words), "--resume")
	}
	quoted := make([]string, len(words))
	for i, w := range words {
		if quoted[i] = w; strings.Trim(w, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=./:,") != "" {
			quoted[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}

// readAhead reads the jobs a second time, for those that are urgent. nil: the input cannot be read twice, or all jobs
// are urgent or none is.
func (o *batchOptions) readAhead() (in *batch.Input, end func(), err error) {
	none := func() {}
	if o.in == "-" || o.urgent || o.dataset.from != "" {
		return nil, none, nil
	}

	f, err := os.Open(o.in)
	if err != nil {
		return nil, none, err
	}

	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil, none, errors.Join(err, f.Close())
	}
	return batch.NewInput(f, batch.MaxLine), func() { f.Close() }, nil //nolint:errcheck // it was only read
}

// writeSummary writes the summary where it is wanted.
func writeSummary(c *cli.CLI, o *batchOptions, s batch.Summary) error {
	if o.json {
		c.Stdout.Write(cli.Marshal(s))
	}

	if !o.quiet {
		text := s.String()
		if o.out != "-" {
			text += "; results: " + o.out
		}

		c.Note("%s", text)
		if s.NotDone != "" {
			c.Note("the first that is not done: %.400s", terminal.OneLine(s.NotDone))
		}
	}

	if o.summary == "" {
		return nil
	}
	return cli.WriteOutput(o.summary, cli.Marshal(s))
}

// judgeBatch connects the parts of a batch and runs it.
func judgeBatch(c *cli.CLI, o *batchOptions, in *os.File, out *batch.Output,
	done *batch.Recorded) (batch.Progress, error) {
	none := batch.Progress{Recorded: done.Len()}
	b, err := openBatch(c, o)
	if err != nil {
		return none, err
	}
	defer b.close()

	if err := b.readCommon(); err != nil {
		return none, err
	}

	id := o.batchID()
	if !o.resume || len(o.retry) > 0 { // what a batch of the same name left is not part of this one
		ctx, cancel := context.WithTimeout(b.ctx, 10*time.Second)
		err := b.queue.End(ctx, id)
		if cancel(); err != nil {
			return none, err
		}
	}

	counted := in
	if o.dataset.from != "" {
		counted = nil // its lines are tasks, each with any number of solutions
	}

	shown := newProgress(c, o.quiet, counted, done.Len())
	defer shown.end()
	defer context.AfterFunc(b.ctx, func() {
		if o.quiet || !errors.As(context.Cause(b.ctx), new(cli.Interrupted)) {
			return
		}
		if cli.IsTerminal(c.Stderr) {
			fmt.Fprintln(c.Stderr) // the progress is in this line
		}
		then := ""
		if o.out != "-" { // the second one ends brig before it can say this
			then = ", and later: " + o.resumeCommand()
		}
		c.Note("interrupted: the batch ends when the jobs that run have ended; Ctrl-C again ends it at once%s", then)
	})()

	var progress atomic.Pointer[batch.Progress]
	stopMetrics, err := serveMetrics(o.metrics, metrics.OfBatch(&progress, shown.jobs, b.poolSlots))
	if err != nil {
		return none, err
	}
	defer stopMetrics()

	var jobs io.Reader = in
	var decodeLine func([]byte) (api.Job, error)
	if o.dataset.from != "" {
		lines, stop, err := jobsOf(c, o.dataset, in)
		if err != nil {
			return none, err
		}
		defer stop()
		jobs, decodeLine = lines, dataset.DecodeJob
	}

	ahead, closeAhead, err := o.readAhead()
	if err != nil {
		return none, err
	}
	defer closeAhead()

	k := &batch.Coordinator{
		Queue: b.queue, Input: batch.NewInput(jobs, batch.MaxLine), Ahead: ahead, Decode: decodeLine, Output: out, Done: done,
		ID: id, Pool: o.engine.pool, Common: b.common, Digest: b.digest, Urgent: o.urgent,
		Resumed: o.resume && len(o.retry) == 0,
		Problem: b.problem, Put: b.contents.PutRun, KeepAgain: b.contents.KeepAgain, Prepare: b.prepare,
		Permit: batch.RefuseHost, Window: b.window,
		WindowBytes: 64 << 20, // an embedded engine has 512 MiB
		Image:       b.image,
		Ordered:     o.ordered, Strict: o.strict, KeepOutput: o.keepOutput, SummaryOnly: o.keep == "summary",
		MaxAttempts: o.maxAttempts,
		Report: func(p batch.Progress) {
			if shown.show(p); o.metrics != "" {
				p.Statuses = maps.Clone(p.Statuses)
				progress.Store(&p)
			}
		},
		Stop: b.ctx.Done(), Working: b.working,
	}

	stopWorkers := b.startWorkers()
	defer stopWorkers()

	p, err := k.Run(context.WithoutCancel(b.ctx))
	var i cli.Interrupted
	if err == nil && !(p.AllRead && p.Released == 0) && errors.As(context.Cause(b.ctx), &i) {
		err = i
	}
	return p, err
}
