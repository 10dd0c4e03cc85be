package batch

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/brig-sandbox/brig/agent/client"
	"github.com/brig-sandbox/brig/agent/relay"
	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/batch"
	"github.com/brig-sandbox/brig/cmd/brig/cli"
	"github.com/brig-sandbox/brig/cmd/brig/images"
	"github.com/brig-sandbox/brig/cmd/brig/judging"
	"github.com/brig-sandbox/brig/judge/grade"
	"github.com/brig-sandbox/brig/judge/grade/class"
	"github.com/brig-sandbox/brig/judge/suite"
)

// executeJob executes the run of a job once, and reads the report of its suite, if it has one.
func executeJob(ctx context.Context, x *images.Executor, r api.Run) (res api.RawResult, err error) {
	if r.Suite == nil {
		return runJob(ctx, x, r)
	}
	run, err := suite.Prepare(r)
	if err != nil {
		return res, err
	}
	if res, err = runJob(ctx, x, run); err == nil {
		res = api.RawResult{Result: suite.Read(*r.Suite, res.Result)} // its run had no tests
	}
	return res, err
}

// runJob executes a run once. A run with network is relayed by this process, and packages that
// it needs are installed.
func runJob(ctx context.Context, x *images.Executor, r api.Run) (api.RawResult, error) {
	ctx = client.WithWait(ctx, 30*time.Second) // in line with others: the worker asks again after that
	do := func() (api.RawResult, error) {
		if r.Network != api.NetworkAllow && r.Network != api.NetworkPublic {
			return x.Agent.RunRaw(ctx, r)
		}
		res, used, err := relay.With(ctx, x.CLI.RelayUser, relay.Request{Network: r.Network, Allow: r.Allow},
			func(ctx context.Context, network func([]*os.File)) (api.Result, error) {
				return x.Agent.RunEvents(ctx, r, bytes.NewReader(nil), client.Events{Network: network})
			})
		res.Network = used
		return api.RawResult{Result: res}, err
	}

	if len(r.Requirements) == 0 {
		return do()
	}

	l, err := cli.LanguageOf(x.Languages, r.Language, cli.Source{})
	if err != nil {
		return api.RawResult{}, err
	}

	request := api.PackageRequest{Language: r.Language, Requirements: r.Requirements, Index: r.Index}
	return images.WithPackages(ctx, x.CLI, x.Agent, l, request, true, do)
}

// A batchProblem is a problem that jobs are judged by.
type batchProblem struct {
	loader grade.Loader
	tree   judging.OpenTree
	common api.Run
	digest string
	wrong  *api.Error // it cannot be read, and nothing else is set; nil: it can
}

func (p *batchProblem) close() {
	if p.wrong == nil {
		p.tree.Close() //nolint:errcheck // it was only read
	}
}

// readCommon fills in what all jobs have in common: what the command line says and, with --problem, tests,
// limits and checker.
func (b *batchRun) readCommon() (err error) {
	b.common = b.o.run
	if b.o.problem != "" {
		if b.main, err = b.openBatchProblem(b.ctx, b.o.problem); err != nil {
			return err
		}
		b.problems[b.o.problem] = b.main
		b.common, b.digest = b.main.common, b.main.digest
		return nil
	}
	b.digest, err = b.contents.PutRun(b.ctx, b.common)
	return err
}

// maxProblems bounds the problems of one batch, which stay open.
const maxProblems = 1000

// problem is batch.Coordinator.Problem: a package or a directory of tests, relative to the directory of the
// input.
func (b *batchRun) problem(ctx context.Context, name string) (api.Run, string, error) {
	p, ok := b.problems[name]
	switch {
	case b.main != nil && !ok:
		return api.Run{}, "", api.Refuse(api.CodeBadRequest,
			"the job names the problem %.80q, and --problem is that of all jobs", name)
	case !ok && len(b.problems) == maxProblems:
		return api.Run{}, "", api.Refuse(api.CodeBadRequest,
			"the jobs name more than %d problems: split the batch", maxProblems)
	case !ok && b.root == nil:
		return api.Run{}, "", api.Refuse(api.CodeBadRequest, "jobs from stdin can name no problem: use --problem")
	case !ok:
		path, err := batch.ProblemPath(b.o.in, name)
		if err == nil {
			p, err = b.openBatchProblem(ctx, path)
		}
		if !errors.As(err, new(batch.WrongProblem)) && err != nil {
			return api.Run{}, "", err // brig failed, which says nothing about the jobs
		}
		if err != nil {
			p = &batchProblem{wrong: api.Refuse(api.CodeBadRequest, "the problem %.80q: %w", name, err)}
		}
		b.problems[name] = p
	}

	if p.wrong != nil {
		return api.Run{}, "", p.wrong
	}
	return p.common, p.digest, nil
}

func (b *batchRun) openBatchProblem(ctx context.Context, path string) (*batchProblem, error) {
	if b.Executor == nil {
		return nil, errors.New("a problem needs an agent on this machine, for its checker: leave out --local none")
	}

	p, tree, err := judging.OpenProblem(b.c, path)
	if err != nil {
		return nil, batch.WrongProblem{Err: err}
	}

	agent := b.Executor.Put(ctx)
	put := func(name string, content []byte) (string, error) { // the jury's runs need it at the agent, and workers from here
		if _, err := agent(name, content); err != nil {
			return "", err
		}
		return b.contents.Put(ctx, content)
	}

	one := &batchProblem{tree: tree, loader: grade.Loader{Problem: p, Tree: tree.Tree, Put: put}}
	g := &judging.Grading{Executor: b.Executor, Options: &judging.GradeOptions{Run: b.o.run, Quiet: b.o.quiet},
		Grading: &class.Grading{Loader: one.loader}}
	if err = g.ReadProblem(ctx); err == nil {
		err = g.SetTimeLimit(ctx)
	}
	if err == nil {
		one.common = g.Common
		one.common.KeepOutput = 0 // each job's
		one.digest, err = b.contents.PutRun(ctx, one.common)
	}
	if err != nil {
		one.close()
		return nil, err
	}
	return one, nil
}

// prepare is batch.Coordinator.Prepare.
func (b *batchRun) prepare(ctx context.Context, j *api.Job) error {
	if err := batch.ReadSourceFile(b.root, j); err != nil {
		return err
	}

	p := b.main
	if j.Problem != "" {
		p = b.problems[j.Problem]
	}
	if b.Executor != nil {
		if err := b.prepareLanguage(ctx, j, p); err != nil {
			return err
		}
	}

	r, err := b.contents.Apart(ctx, j.Run)
	j.Run = r
	return err
}

// prepareLanguage finds the language of a job, builds its image if it is missing, and adds what the problem
// has for submissions in it.
func (b *batchRun) prepareLanguage(ctx context.Context, j *api.Job, p *batchProblem) error {
	name := j.Language
	if name == "" {
		name = b.common.Language
	}
	if name == "" && j.SourceFile == "" {
		return nil // an image, or an error of Validate
	}

	l, err := b.Executor.Prepare(ctx, name, cli.Source{Ext: filepath.Ext(j.SourceFile)})
	if err != nil {
		return err
	}

	j.Language = l.Name
	if _, ok := b.images[l.Name]; !ok { // it may have been built just now
		if b.images, err = b.ImageDigests(ctx); err != nil {
			return err
		}
	}
	if j.SourceFile != "" && j.SourceName == "" {
		tests := j.Tests
		if p != nil {
			tests = p.common.Tests
		}
		j.SourceName = grade.SourceNameIn(b.Languages, l.Name, filepath.Base(j.SourceFile), len(j.Files), tests)
	}
	if p == nil {
		return nil
	}
	if err := p.loader.Allowed(grade.Submission{Text: j.Source, Files: j.Files}, l.Name); err != nil {
		return api.Refuse(api.CodeBadRequest, "%w", err)
	}
	if len(j.Flags) == 0 {
		j.Flags = p.loader.Flags(l.Name)
	}
	if j.Source != nil {
		j.Source = p.loader.Source(l.Name, j.Source)
	}

	j.Files, err = p.loader.Included(l.Name, j.Files)
	return err
}
