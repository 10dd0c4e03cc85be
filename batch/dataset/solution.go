package dataset

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A kind says what the text of a solution is.
type kind int

// The kinds.
const (
	completion kind = iota // it continues the prompt, where the format has one
	program                // all of the program
	answer                 // Markdown with the program in it
)

// A solution is one solution of a task.
type solution struct {
	kind     kind
	text     string
	language string          // empty: the task's
	meta     json.RawMessage // nil: the reader's own
	correct  *bool           // what the data set says of its own solutions; nil: nothing
}

// solutionFields are the fields with solutions, in the lines of tasks and of completions.
var solutionFields = []struct {
	name string
	kind kind
	many bool
}{
	{"completion", completion, false}, {"completions", completion, true},
	{"solution", program, false},
	{"response", answer, false}, {"responses", answer, true},
}

// dumpedFields are fields with answers that only dumps of verl have.
var dumpedFields = []string{"solution_str", "output"}

// solutionsIn returns the solutions of a line. There is none if the line has no field for them.
func solutionsIn(rec record, format Format) ([]solution, error) {
	var found string
	var all []solution
	add := func(name string, k kind, texts []string) error {
		if found != "" {
			return fmt.Errorf("it has both %s and %s: leave one of them out", found, name)
		}
		found = name
		for _, t := range texts {
			all = append(all, solution{kind: k, text: t})
		}
		return nil
	}

	for _, f := range solutionFields {
		if !rec.has(f.name) {
			continue
		}
		texts, err := textsIn(rec, f.name, f.many)
		if err == nil {
			err = add(f.name, f.kind, texts)
		}
		if err != nil {
			return nil, err
		}
	}

	if format == Verl && found == "" {
		if name := rec.first(dumpedFields...); name != "" {
			texts, err := textsIn(rec, name, false)
			if err != nil {
				return nil, err
			}
			_ = add(name, answer, texts) // it is the only field
		}
	}

	language, err := field[string](rec, "language")
	if err != nil {
		return nil, err
	}

	for i := range all {
		if rec.has("meta") {
			all[i].meta = slices.Clone(rec["meta"])
		}
		if name, ok := languageOfTag(language); ok {
			language = name
		}
		all[i].language = strings.ToLower(language)
	}

	return all, nil
}

// own returns the data set's own solutions of a task.
func (t task) own() (all []solution, err error) {
	if t.canonical != nil {
		all, err = t.canonical()
	}
	if err == nil && len(all) == 0 {
		err = errors.New("the data set has no solution of its own for this task")
	}
	return all, err
}

// ownSolution is the canonical solution in a field of a line.
func ownSolution(rec record, key string, k kind) func() ([]solution, error) {
	return func() ([]solution, error) {
		text, err := field[string](rec, key)
		if err != nil || text == "" {
			return nil, err
		}
		return []solution{{kind: k, text: text}}, nil
	}
}

func textsIn(rec record, name string, many bool) ([]string, error) {
	if many {
		all, err := field[[]string](rec, name)
		if err == nil && len(all) == 0 {
			err = fmt.Errorf("%s: it is empty", name)
		}
		return all, err
	}
	one, err := field[string](rec, name)
	return []string{one}, err
}

// solutions returns the solutions of a task.
func (d *reader) solutions(rec record, of task, name string) ([]solution, error) {
	all, err := solutionsIn(rec, d.format)
	switch {
	case d.o.Canonical:
		return of.own()
	case d.completions != nil:
		all = d.completions.of(name)
		if len(all) == 0 && d.o.Skipped != nil {
			d.o.Skipped(name)
		}
	case err != nil:
		return nil, err
	case len(all) == 0:
		return nil, errors.New("there is no solution: expected completion, completions, solution, response or " +
			"responses in the line, or a file of completions (--completions); for the data set's own solutions: --canonical")
	}

	for i := range all {
		if d.o.Markdown || of.markdown && all[i].kind == completion {
			all[i].kind = answer
		}
	}

	return all, nil
}

// completions are the solutions of a second file, by task.
type completions struct {
	tasks map[string]*completed
	order []string // names of the tasks, in the order of the file
}

// completed are the solutions of one task.
type completed struct {
	line int64 // of the first one
	all  []solution
	used bool
}

// maxCompletions bounds the solutions of a second file, in bytes: they are kept in memory.
const maxCompletions = 2 << 30

func (c *completions) of(task string) []solution {
	one := c.tasks[task]
	if one == nil {
		return nil
	}
	one.used = true
	return slices.Clone(one.all)
}

// readCompletions reads the second file. The error ends the reading.
func (d *reader) readCompletions() error {
	d.completions = &completions{tasks: map[string]*completed{}}
	total := 0
	for l, err := range lines(d.o.Completions, d.o.MaxLine) {
		if err != nil {
			return err
		}

		name, all, err := d.completionLine(l)
		if err != nil {
			if err := d.refuse(fmt.Sprintf("completions line %d", l.number),
				&LineError{Line: l.number, Completions: true, Err: err}); err != nil {
				return err
			}
			continue
		}

		for _, s := range all {
			total += len(s.text) + len(s.meta)
		}

		if total > maxCompletions {
			return fmt.Errorf("line %d: the solutions have more than %d GiB so far, the most: split the file",
				l.number, maxCompletions>>30)
		}

		one := d.completions.tasks[name]
		if one == nil {
			one = &completed{line: l.number}
			d.completions.tasks[name] = one
			d.completions.order = append(d.completions.order, name)
		}

		one.all = append(one.all, all...)
	}

	return nil
}

func (d *reader) completionLine(l line) (name string, all []solution, err error) {
	if l.err != nil {
		return "", nil, l.err
	}

	rec, err := parseRecord(l.text)
	if err != nil {
		return "", nil, err
	}

	ids := append(slices.Clone(shapes[d.format].id), "task_id", "question_id", "problem_id", "id", "index")
	if name, err = rec.name(ids...); err != nil {
		return "", nil, err
	}
	if name == "" {
		return "", nil, errors.New("there is no task_id: it names the task that is solved")
	}

	all, err = solutionsIn(rec, d.format)
	if err == nil && len(all) == 0 {
		err = errors.New("there is no solution: expected completion, completions, solution, response or responses")
	}
	return name, all, err
}

// refuseUnused yields an error for each task that has completions and is not in the data set.
func (d *reader) refuseUnused() error {
	if d.completions == nil {
		return nil
	}

	for _, name := range d.completions.order {
		if one := d.completions.tasks[name]; !one.used {
			err := d.refuse(name,
				&LineError{Line: one.line, Completions: true, Err: fmt.Errorf("the data set has no task %q", name)})
			if err != nil {
				return err
			}
		}
	}

	return nil
}
