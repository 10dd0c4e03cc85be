// Package generate makes what a problem package leaves to its own programs: generators write inputs of tests,
// the main solution the answers, and build scripts programs. Each runs in a sandbox, once for each file.
package generate

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/judge/grade"
	"github.com/brig-sandbox/brig/judge/grade/verify"
	"github.com/brig-sandbox/brig/judge/problem"
	"github.com/brig-sandbox/brig/judge/problem/format"
)

// MaxFile is the most bytes of one file that is made: what an agent takes as the input of a test.
const MaxFile = 64 * api.MiB

const keptText = 4 << 10 // bytes of what a program says that leaves a file

// maxFailures is after how many files that could not be made no further one is tried.
const maxFailures = 10

// Options say how the files are made.
type Options struct {
	Put      func(file string, content []byte) (digest string, err error)  // as of grade.Loader
	Alone    func(ctx context.Context, r api.Run) (api.Result, *api.Error) // executes a run without tests; the result has all that it wrote
	Ceiling  api.Limits                                                    // most that the agent lets a run request, as far as it is known
	Each     func(n int, do func(i int))                                   // calls do for 0 to n-1, as many at once as there are slots
	Progress func(steps int) (made, end func())                            // nil: nobody sees it
}

// A FailedError lists the files that the programs of a package did not make, and why. It is a mistake of the
// package.
type FailedError struct{ problem.Findings }

// Error is a line for each file.
func (e *FailedError) Error() string { return e.Err().Error() }

// A maker makes the files of one package.
type maker struct {
	x     verify.Executor
	o     Options
	p     *problem.Problem
	tree  *problem.Tree
	added *problem.Additions
	made  func()

	mu       sync.Mutex
	failures problem.Findings // guarded by mu
	untried  []string         // guarded by mu; files, after too many failures
	err      error            // guarded by mu; brig failed
	stop     func()           // ends what runs, once brig has failed
}

// Missing makes what a package lacks, and returns what it then says and its tree, which is valid as
// long as t and which the caller closes. A *FailedError says that the package is at fault, any other error
// that brig failed.
func Missing(ctx context.Context, x verify.Executor, p *problem.Problem, t *problem.Tree,
	o Options) (whole *problem.Problem, tree *problem.Tree, err error) {
	end := func() {}
	m := &maker{x: x, o: o, p: p, tree: t, made: func() {}}
	if o.Progress != nil {
		m.made, end = o.Progress(p.Generate.Steps())
	}
	defer end()

	if err := m.build(ctx); err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, m.added.Discard())
		}
	}()

	// Inputs first: an answer needs its input.
	for _, plan := range []func(context.Context) ([]job, error){m.inputs, m.answers} {
		jobs, err := plan(ctx)
		if err == nil {
			err = m.run(ctx, jobs)
		}
		if err != nil {
			return nil, nil, err
		}
		if m.tree, err = m.added.With(); err != nil {
			return nil, nil, err
		}
	}

	if whole, tree, err = format.Read(m.tree); err != nil {
		return nil, nil, err
	}
	return whole, tree, whole.Whole()
}

// A job makes one file.
type job struct {
	file    string
	program int    // those with one number are one program
	main    string // source of the program
	what    string // is run, for messages
	from    string // file that the program leaves; empty: stdout
	tout    bool   // the file is what the interactor wrote
	empty   bool   // the file may be empty
	run     func() (api.Run, error)
}

// inputs plans the runs of the generators.
func (m *maker) inputs(ctx context.Context) ([]job, error) {
	g := m.p.Generate
	loader := grade.Loader{Problem: m.p, Tree: m.tree}
	programs := make([]api.Run, len(g.Generators))
	for i, p := range g.Generators {
		language, err := m.x.Language(ctx, p.Language)
		if err != nil {
			return nil, fmt.Errorf("generator %s: %w", p.Main, err)
		}
		if programs[i], err = loader.Run(p); err != nil {
			return nil, err
		}
		programs[i].Language = language.Name
	}

	jobs := make([]job, len(g.Inputs))
	for i, in := range g.Inputs {
		p := g.Generators[in.Generator]
		jobs[i] = job{file: in.File, program: in.Generator, main: p.Main,
			what: fmt.Sprintf("the generator %s, run as %q,", p.Main, in.Command), from: in.From, run: func() (api.Run, error) {
				r := programs[in.Generator]
				r.Tests = []api.Test{{ID: in.File, Args: in.Args}}
				return m.limited(r, in.From), nil
			}}
	}

	return jobs, nil
}

// limited sets the limits of a program of the package, and what is kept of what it made.
func (m *maker) limited(r api.Run, from string) api.Run {
	l := m.p.Limits
	cpu := max(verify.DefaultLongest, l.Time)
	r.Limits = api.Limits{CPU: cpu, Wall: api.BusyWall(cpu)}
	defaults := api.Defaults()
	if l.Memory > defaults.Memory {
		r.Limits.Memory = l.Memory
	}

	r.Limits = r.Limits.CappedBy(m.o.Ceiling)
	r.Collect, r.KeepOutput = api.Collect{None: true}, defaults.Output
	if from != "" {
		r.Collect, r.KeepOutput = api.Collect{Globs: []string{escaped(from)}, Files: 1, Bytes: MaxFile}, keptText
	}
	return r
}

// answers plans the runs of the main solution.
func (m *maker) answers(ctx context.Context) ([]job, error) {
	g := m.p.Generate
	if len(g.Answers) == 0 {
		return nil, nil
	}

	loader := grade.Loader{Problem: m.p, Tree: m.tree, Put: m.o.Put}
	program, err := m.solution(ctx, loader)
	if err == nil && m.p.Interactor != nil {
		err = m.talk(ctx, &program, loader)
	}
	if err != nil {
		return nil, err
	}

	program.InputFile, program.OutputFile = m.p.InputFile, m.p.OutputFile
	jobs := make([]job, len(g.Answers))
	for i, one := range g.Answers {
		jobs[i] = job{file: one.File, main: g.Solution, what: "the main solution " + g.Solution, from: m.p.OutputFile,
			tout: program.Interactor != nil, empty: true, run: func() (api.Run, error) {
				var err error
				r := program
				// No answer is there yet, and so it is empty (as problem-xml-specs says, 12.3).
				r.Tests, err = loader.Tests([]problem.Test{{ID: one.File, Input: one.Input, EmptyAnswer: r.Interactor != nil}})
				return m.limited(r, m.p.OutputFile), err
			}}
	}

	return jobs, nil
}

// solution is the run of the main solution, with the files that the package places next to submissions.
func (m *maker) solution(ctx context.Context, l grade.Loader) (api.Run, error) {
	for _, j := range m.p.Jury {
		if j.Path != m.p.Generate.Solution {
			continue
		}

		language, err := m.x.Language(ctx, j.Language)
		if err != nil {
			return api.Run{}, fmt.Errorf("main solution %s: %w", j.Path, err)
		}

		r, err := l.Run(j.Program)
		if err == nil {
			r.Files, err = l.Included(language.Name, r.Files)
		}

		r.Language, r.Source = language.Name, l.Source(language.Name, r.Source)
		r.SourceName = grade.SourceName(language, r.SourceName, len(r.Files), nil)
		return r, err
	}

	return api.Run{}, errors.New("the package has no main solution")
}

const (
	accepts = "ok "       // copying says it before the copy
	noCopy  = "too large" // and this in place of a copy
	maxCopy = 49_000      // bytes of what is copied: agents keep less than 64 KiB of what a checker says
)

// copying is a command that is a checker: it accepts, and says what it had to judge, because what an
// interactor wrote is given to a checker only. Base64 has neither white space nor words of testlib in it.
var copying = fmt.Sprintf("printf '%s' >&2; if test $(wc -c <\"$2\") -gt %d; then printf '%s' >&2; else exec base64 "+
	"-w 0 \"$2\" >&2; fi", accepts, maxCopy, noCopy)

// talk has a program talk with the interactor of the package. The checker that copies runs in the same image.
func (m *maker) talk(ctx context.Context, r *api.Run, l grade.Loader) error {
	language, err := m.x.Language(ctx, m.p.Interactor.Language)
	if err != nil {
		return fmt.Errorf("interactor %s: %w", m.p.Interactor.Main, err)
	}
	r.Check = &api.Check{Protocol: api.ProtocolTestlib,
		Program: api.Program{Image: language.Image, Argv: []string{"sh", "-c", copying, "copy"}}}
	r.Interactor, err = l.Interactor(*m.p.Interactor)
	r.Passes = m.p.Passes
	return err
}
