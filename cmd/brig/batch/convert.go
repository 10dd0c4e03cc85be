package batch

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/brig-sandbox/brig/batch/dataset"
	"github.com/brig-sandbox/brig/cmd/brig/cli"
	"github.com/brig-sandbox/brig/internal/inputfile"
	"github.com/brig-sandbox/brig/internal/suggest"
)

const convertUsage = `
Make jobs of a data set of programming tasks and of solutions of them: one line of JSON for
each solution, with the program, its tests and how they are judged. Nothing is executed.

Usage:
  brig convert --from NAME [flags] FILE

FILE is JSONL, may be compressed with gzip, and may be - for standard input. The solutions
are in its lines, or in those of --completions FILE, by the name of the task: completion
or completions, solution (a whole program), response or responses (answers in Markdown).

Examples:
  brig convert --from humaneval HumanEval.jsonl.gz --completions samples.jsonl -o jobs.jsonl
  brig convert --from humaneval HumanEval.jsonl.gz --canonical -o jobs.jsonl
  brig convert --from lcb test5.jsonl --completions answers.jsonl --extract -o jobs.jsonl
  brig convert --from verl rollouts.jsonl -o jobs.jsonl --json

docs/datasets.md has the fields of each format.

Exit codes: 0 if every line was converted; 1 if one could not be, which the others do not
notice; 125 if brig itself failed.`

// datasetOptions say which data set jobs are made of.
type datasetOptions struct {
	from, completions string
	read              dataset.Options
}

func (o *datasetOptions) register(f *pflag.FlagSet) {
	f.StringVar(&o.from, "from", "", "`NAME` of the format: "+strings.Join(dataset.Formats(), ", "))
	f.StringVar(&o.completions, "completions", "", "`FILE` with solutions by the name of their task")
	f.BoolVar(&o.read.Canonical, "canonical", false, "take the solutions that the data set has itself")
	f.BoolVar(&o.read.Markdown, "extract", false,
		"all solutions are answers in Markdown: take the program from the last block of code")
	f.BoolVar(&o.read.NoLimits, "no-limits", false, "leave out the limits of time and memory that the data set has")
}

// check refuses options that contradict each other; tasks is the file with the tasks.
func (o *datasetOptions) check(tasks string) error {
	switch {
	case !slices.Contains(dataset.Formats(), o.from):
		return fmt.Errorf("--from %s: there is no such format%s (known: %s)", o.from, suggest.Text(o.from, dataset.Formats()),
			strings.Join(dataset.Formats(), ", "))
	case o.read.Canonical && o.completions != "":
		return errors.New("--canonical and --completions are both set: the solutions are either the data set's own or those of the file")
	case o.completions == "-" && tasks == "-":
		return errors.New("the tasks and the completions are both read from standard input: name a file for one of them")
	}
	return nil
}

// convertOptions is the command line of brig convert.
type convertOptions struct {
	datasetOptions
	out         string
	json, quiet bool
}

func (o *convertOptions) register(f *pflag.FlagSet) {
	o.datasetOptions.register(f)
	f.StringVarP(&o.read.Language, "language", "l", "",
		"`NAME` of the language of solutions for which no line says one (default python)")
	f.StringVarP(&o.out, "out", "o", "-", "write the jobs to this `FILE`; - is stdout")
	f.BoolVar(&o.json, "json", false,
		"print as JSON how many jobs there are and which lines were refused; it needs --out FILE")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "print no progress and no refused lines")
}

func (o *convertOptions) check(f *pflag.FlagSet) error {
	switch {
	case f.NArg() != 1:
		return errors.New("name one FILE with the tasks, or - for standard input")
	case o.from == "":
		return fmt.Errorf("--from says which data set it is: %s", strings.Join(dataset.Formats(), ", "))
	case o.json && o.out == "-":
		return errors.New("--json: the jobs go to stdout already: add --out FILE")
	}
	return o.datasetOptions.check(f.Arg(0))
}

// converted sums up what was converted.
type converted struct {
	Jobs    int           `json:"jobs"`
	Skipped int           `json:"skipped"` // tasks without a completion
	Refused []refusedLine `json:"refused"`
}

type refusedLine struct {
	ID          string `json:"id"`
	Line        int64  `json:"line"`
	Completions bool   `json:"completions,omitempty"` // a line of --completions
	Error       string `json:"error"`
}

// ConvertCommand makes brig convert.
func ConvertCommand(c *cli.CLI) *cobra.Command {
	o := new(convertOptions)
	k, f := cli.NewCommand("convert", convertUsage)
	o.register(f)
	return c.Does(k, func() int {
		if err := o.check(f); err != nil {
			return c.Hint("convert", err)
		}

		done, err := convertTasks(c, o, f.Arg(0))
		if err != nil {
			return c.Fail(err)
		}
		if o.json {
			c.Stdout.Write(cli.Marshal(done))
		} else if !o.quiet {
			printConverted(c, done)
		}
		if len(done.Refused) > 0 {
			return 1
		}
		return 0
	})
}

// convertTasks reads the data set and writes the jobs.
func convertTasks(c *cli.CLI, o *convertOptions, name string) (done converted, err error) {
	done.Refused = []refusedLine{}
	tasks, err := openInput(c, name)
	if err != nil {
		return done, err
	}
	defer tasks.Close()

	if o.completions != "" {
		in, err := openInput(c, o.completions)
		if err != nil {
			return done, fmt.Errorf("--completions: %w", err)
		}
		defer in.Close()
		o.read.Completions = in
	}

	o.read.Skipped = func(string) { done.Skipped++ }
	to, end := c.Stdout, func() error { return nil }
	if o.out != "-" {
		if err := o.checkOutput(name); err != nil {
			return done, err
		}
		file, err := cli.OpenOutput(o.out)
		if err != nil {
			return done, fmt.Errorf("--out: %w", err)
		}
		to, end = file, file.Close
	}
	defer func() { err = errors.Join(err, end()) }()

	var in io.Reader = tasks
	if !o.quiet && o.out != "-" {
		shown, hide := c.Transfer("convert "+name, tasks)
		defer hide()
		in = shown
	}

	return done, writeJobs(c, o, in, to, &done)
}

// checkOutput refuses to write the jobs over what they are made of.
func (o *convertOptions) checkOutput(tasks string) error {
	out, err := os.Stat(o.out)
	if err != nil {
		return nil // it is a new file, or opening it says why it cannot be written
	}
	for _, in := range []string{tasks, o.completions} {
		if info, err := os.Stat(in); err == nil && os.SameFile(info, out) {
			return fmt.Errorf("--out %s: it is the file that is read: name another one", o.out)
		}
	}
	return nil
}

// openInput opens a file that the user named, or standard input.
func openInput(c *cli.CLI, name string) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(c.Stdin), nil
	}
	f, _, err := inputfile.Open(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%s: there is no such file", name)
	}
	return f, err
}

// writeJobs writes the jobs and records the lines that are refused.
func writeJobs(c *cli.CLI, o *convertOptions, in io.Reader, to io.Writer, done *converted) error {
	w := bufio.NewWriterSize(to, 64<<10)
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)

	for job, err := range dataset.Read(in, dataset.Format(o.from), o.read) {
		var wrong *dataset.LineError
		switch {
		case errors.As(err, &wrong):
			done.Refused = append(done.Refused, refusedLine{job.ID, wrong.Line, wrong.Completions, wrong.Err.Error()})
			continue
		case err == nil:
			err = e.Encode(job)
		}
		if err != nil {
			return err
		}
		done.Jobs++
	}

	return w.Flush()
}

// shownRefusals is how many refused lines are printed.
const shownRefusals = 10

func printConverted(c *cli.CLI, done converted) {
	for i, r := range done.Refused {
		if i == shownRefusals {
			c.Note("and %d more: --json lists them all", len(done.Refused)-i)
			break
		}
		what := ""
		if r.Completions {
			what = " of the completions"
		}
		c.Note("line %d%s, %s: %s", r.Line, what, r.ID, r.Error)
	}

	text := fmt.Sprintf("%d jobs", done.Jobs)
	if n := len(done.Refused); n > 0 {
		text += fmt.Sprintf(", %d refused", n)
	}
	if done.Skipped > 0 {
		text += fmt.Sprintf(", %d tasks without a completion", done.Skipped)
	}

	c.Note("%s", text)
}

// jobsOf has a goroutine write the jobs of a data set, a line for each. It waits until they are read. stop ends
// and joins it, and closes the file of completions.
func jobsOf(c *cli.CLI, o datasetOptions, tasks io.Reader) (lines io.Reader, stop func(), err error) {
	closeCompletions := func() {}
	if o.completions != "" {
		in, err := openInput(c, o.completions)
		if err != nil {
			return nil, nil, fmt.Errorf("--completions: %w", err)
		}
		o.read.Completions, closeCompletions = in, func() { in.Close() } //nolint:errcheck // it was only read
	}

	r, w := io.Pipe()
	var writer sync.WaitGroup
	writer.Go(func() { w.CloseWithError(dataset.WriteJobs(w, tasks, dataset.Format(o.from), o.read)) })
	return r, func() {
		r.Close() //nolint:errcheck // it returns nil always
		writer.Wait()
		closeCompletions()
	}, nil
}
