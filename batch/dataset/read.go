package dataset

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/brig-sandbox/brig/api"
)

// A Format is the shape of a data set's lines.
type Format string

// The formats. docs/datasets.md has the fields of each.
const (
	HumanEval    Format = "humaneval"    // HumanEval and EvalPlus
	MBPP         Format = "mbpp"         // MBPP, its sanitized form and MBPP+
	LCB          Format = "lcb"          // LiveCodeBench, code generation
	APPS         Format = "apps"         // APPS
	TACO         Format = "taco"         // TACO
	CodeContests Format = "codecontests" // CodeContests, as JSON of its columns or of its proto
	ScaleBox     Format = "scalebox"     // requests of ScaleBox, and tasks of PrimeIntellect
	Verl         Format = "verl"         // rows and dumped generations of verl
)

// shapes has what is particular to a format.
var shapes = map[Format]struct {
	fields string   // what a line must have, for errors
	id     []string // fields that name the task; without one the number of the task, from 0, is its name
	read   func(record) (task, error)
}{
	HumanEval: {"prompt, test and entry_point", []string{"task_id"}, humanEvalTask},
	MBPP:      {"test_list, or test and entry_point", []string{"task_id"}, mbppTask},
	LCB: {"public_test_cases and private_test_cases, or input_output",
		[]string{"question_id", "task_id"}, lcbTask},
	APPS:         {"input_output", []string{"problem_id", "task_id", "id"}, appsTask},
	TACO:         {"input_output", []string{"problem_id", "task_id", "id"}, tacoTask},
	CodeContests: {"public_tests, private_tests or generated_tests", []string{"name", "task_id"}, codeContestsTask},
	ScaleBox:     {"test_cases", []string{"id", "task_id", "problem_id"}, scaleBoxTask},
	Verl:         {"ground_truth, in the line or in its reward_model", []string{"id", "task_id", "index"}, verlTask},
}

// Formats returns the names of all formats, in alphabetical order.
func Formats() []string {
	var all []string
	for f := range shapes {
		all = append(all, string(f))
	}
	slices.Sort(all)
	return all
}

// MaxLine is the most bytes of a line if Options do not set another number.
const MaxLine = 256 << 20

// Options say how a data set is read. The zero value reads solutions from the lines of the tasks.
type Options struct {
	// Completions has lines with the name of a task and solutions of it. Nil: the solutions are in the
	// lines of the tasks.
	Completions io.Reader

	Canonical bool // judge the solutions that the data set has itself
	Markdown  bool // every solution is an answer in Markdown, of which Extract finds the program
	NoLimits  bool // leave out the limits of the data set

	Language string // of solutions for which no line says one; empty: that of the block in an answer, or Python

	MaxLine int // most bytes of a line; zero: MaxLine

	// Skipped is called for each task that has no solution in Completions. Nil: it is not.
	Skipped func(task string)
}

// A task is what a line of a data set says, without solutions.
type task struct {
	run       api.Run                    // tests, limits and how they are judged; not the program
	markdown  bool                       // solutions are answers in Markdown
	canonical func() ([]solution, error) // the data set's own solutions; nil: it has none
	program   func(solution) string      // nil: the text of the solution is the program
}

// Read yields the jobs of a data set: one for each solution of each task. An error that is a *LineError is
// about one line, and what follows it is read; the job then has only an ID, which is that of the job, or
// line and its number. Any other error is the last one: the format does not exist, or reading failed.
func Read(r io.Reader, format Format, o Options) iter.Seq2[api.Job, error] {
	return func(yield func(api.Job, error) bool) {
		if _, ok := shapes[format]; !ok {
			yield(api.Job{}, fmt.Errorf("there is no format %q: use %s", format, strings.Join(Formats(), ", ")))
			return
		}
		d := reader{format: format, o: o, samples: map[string]int{}, used: map[string]bool{}, yield: yield}
		d.o.MaxLine = cmp.Or(o.MaxLine, MaxLine)
		if err := d.read(r); err != nil && !errors.Is(err, errStopped) {
			yield(api.Job{}, err)
		}
	}
}

// errStopped says that the caller wants no more jobs.
var errStopped = errors.New("stopped")

// A reader reads one data set.
type reader struct {
	format      Format
	o           Options
	completions *completions    // nil: solutions are in the lines of the tasks
	samples     map[string]int  // jobs of each task so far
	used        map[string]bool // their ids
	yield       func(api.Job, error) bool
}

func (d *reader) read(r io.Reader) error {
	if d.o.Completions != nil {
		if err := d.readCompletions(); err != nil {
			return fmt.Errorf("read the completions: %w", err)
		}
	}

	tasks := 0
	for l, err := range lines(r, d.o.MaxLine) {
		if err != nil {
			return err
		}
		if err := d.task(l, tasks); err != nil {
			return err
		}
		tasks++
	}

	return d.refuseUnused()
}

// refuse yields a line that cannot be read.
func (d *reader) refuse(id string, e *LineError) error {
	if !d.yield(api.Job{ID: id}, e) {
		return errStopped
	}
	return nil
}

// task yields the jobs of one line. The error ends the reading.
func (d *reader) task(l line, number int) error {
	id := fmt.Sprintf("line %d", l.number)
	bad := func(err error) error { return d.refuse(d.nextID(id), &LineError{Line: l.number, Err: err}) }
	if l.err != nil {
		return bad(l.err)
	}

	rec, err := parseRecord(l.text)
	if err != nil {
		return bad(err)
	}

	shape := shapes[d.format]
	name, err := rec.name(shape.id...)
	if err != nil {
		return bad(err)
	}

	// From here on an error has the name of the task, by which its result can be found.
	name = cmp.Or(name, nameWithin(rec), strconv.Itoa(number))
	id = name
	of, err := shape.read(rec)
	if err != nil {
		if missing := missingField(""); errors.As(err, &missing) {
			err = fmt.Errorf("%w: a line of %s has %s", err, d.format, shape.fields)
		}
		return bad(err)
	}

	all, err := d.solutions(rec, of, name)
	if err != nil {
		return bad(err)
	}

	// Each job is validated alone: a solution that is refused must not take the others of its task with
	// it.
	for _, s := range all {
		job := d.job(of, s, name)
		if err := validate(job); err != nil {
			if err := d.refuse(job.ID, &LineError{Line: l.number, Err: err}); err != nil {
				return err
			}
			continue
		}
		if !d.yield(job, nil) {
			return errStopped
		}
	}

	return nil
}

// nameWithin returns the index of a task that rows of verl have in extra_info.
func nameWithin(rec record) string {
	extra, err := field[record](rec, "extra_info")
	if err != nil {
		return ""
	}
	name, _ := extra.name("index") // something else is no name
	return name
}

// nextID returns the id of the next job of a task: its name, or that and a number.
func (d *reader) nextID(name string) string {
	d.samples[name]++
	id := name
	for n := d.samples[name]; d.used[id]; n++ {
		id = name + "#" + strconv.Itoa(n)
	}
	d.used[id] = true
	return id
}

func (d *reader) job(of task, s solution, name string) api.Job {
	job := api.Job{ID: d.nextID(name), Meta: s.meta, Run: of.run}
	if d.o.NoLimits {
		job.Limits = api.Limits{}
	}

	if s.kind == answer {
		want := cmp.Or(s.language, job.Language, d.o.Language)
		if want == "" && job.CallsFunctions() {
			want = api.LanguageOfCalls
		}
		var tag string
		s.text, tag = Extract(s.text, tagOf(want))
		s.language = cmp.Or(want, tag)
	}

	job.Language = cmp.Or(s.language, job.Language, d.o.Language, api.LanguageOfCalls)
	text := s.text
	if of.program != nil {
		text = of.program(s)
	}

	job.Source = append(api.Bytes{}, text...) // an empty program is a program
	if job.Meta == nil {
		meta := struct {
			Task    string `json:"task"`
			Sample  int    `json:"sample"`
			Correct *bool  `json:"correct,omitempty"`
		}{name, d.samples[name], s.correct}
		job.Meta, _ = json.Marshal(meta) // it always encodes
	}

	return job
}

func validate(job api.Job) error {
	switch {
	case len(job.ID) > api.MaxJobID:
		return fmt.Errorf("the name of the task has %d bytes, and the maximum is %d", len(job.ID), api.MaxJobID)
	case job.Language == "python2":
		return errors.New("the solution is written in Python 2, which is not offered")
	case len(job.Meta) > api.MaxJobMeta:
		return fmt.Errorf("meta has %d bytes, and the maximum is %d", len(job.Meta), api.MaxJobMeta)
	}
	return job.Validate()
}
