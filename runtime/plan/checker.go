package plan

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/api/judge"
)

// The defaults of what judges a program, on each test.
const (
	judgeMemory = 2 * api.GiB
	judgeOutput = 8 * api.MiB
	judgeCPU    = api.Duration(10 * time.Second)
	kattisCPU   = api.Duration(60 * time.Second) // validation_time of the package format

	judgeCompileCPU = api.Duration(60 * time.Second)
)

// checker plans a checker: the program that judges another one is a job of its own, with a sandbox of
// its own for each test, in the mode of the run.
func (pl *Planner) checker(ctx context.Context, c api.Check, mode api.Mode, caller api.Caller) (*Job, error) {
	files := judge.ProtocolOf(c.Protocol).Files
	if err := checkNames("check", c.Files, c.SourceName, append(files[:], judge.FeedbackDir)); err != nil {
		return nil, err
	}
	j, err := pl.Job(ctx, pl.runOfChecker(c, mode), caller)
	if err != nil {
		return nil, api.About("check", err)
	}
	j.Run.MaxKept = [2]api.Size{judge.MaxStream, judge.MaxStream}
	return j, nil
}

func (pl *Planner) runOfChecker(c api.Check, mode api.Mode) api.Run {
	r := c.Run()
	r.Mode = mode
	if c.Protocol == api.ProtocolPython {
		r.Files = append(slices.Clone(r.Files), api.File{Name: judge.PythonChecker, Content: r.Source})
		r.Source, r.SourceName, r.Language = judge.PythonWrapper, "", cmp.Or(r.Language, api.PythonCheckers)
	}
	r.Limits = pl.judgeLimits(r.Limits, c.Protocol)
	r.CompileLimits = pl.judgeCompileLimits(r)
	r.Collect = api.Collect{Globs: judge.ProtocolOf(c.Protocol).Collect}
	r.Collect.None = len(r.Collect.Globs) == 0
	return r
}

// interactor plans an interactor, in the same way.
func (pl *Planner) interactor(ctx context.Context, i api.Interactor, mode api.Mode, caller api.Caller) (*Job, error) {
	if err := checkNames("interactor", i.Files, i.SourceName, []string{judge.InputFile, judge.AnswerFile, judge.FeedbackDir}); err != nil {
		return nil, err
	}
	j, err := pl.Job(ctx, pl.runOfInteractor(i, mode), caller)
	if err != nil {
		return nil, api.About("interactor", err)
	}
	j.Run.MaxKept = [2]api.Size{judge.MaxStream, judge.MaxStream}
	return j, nil
}

func (pl *Planner) runOfInteractor(i api.Interactor, mode api.Mode) api.Run {
	r := i.Run()
	r.Mode = mode
	r.Limits = pl.judgeLimits(r.Limits, i.Protocol)
	r.CompileLimits = pl.judgeCompileLimits(r)
	r.Collect = api.Collect{Globs: judge.InteractionOf(i.Protocol).Collect}
	return r
}

// judgeLimits fills in the defaults of what judges a program.
func (pl *Planner) judgeLimits(wish api.Limits, p api.Protocol) api.Limits {
	d := api.Limits{CPU: judgeCPU, Memory: min(judgeMemory, pl.Memory/2), Output: judgeOutput}
	if p == api.ProtocolKattis {
		d.CPU = kattisCPU
	}
	d.Wall = 2*d.CPU + api.Duration(time.Second)
	if wish.CPU != 0 {
		d.Wall = 2*wish.CPU + api.Duration(time.Second)
	}
	return wish.Over(d.CappedBy(pl.Ceiling))
}

// judgeCompileLimits fills in the defaults of the compile stage of what judges a program. It may take long: a
// checker is compiled once for all programs, and testlib.h has 6,000 lines.
func (pl *Planner) judgeCompileLimits(r api.Run) api.Limits {
	lang, err := pl.language(r)
	if err != nil || len(lang.Compile) == 0 || r.Source == nil {
		return r.CompileLimits // planning the job reports what is wrong
	}
	return r.CompileLimits.Over(api.Limits{CPU: judgeCompileCPU, Wall: 2 * judgeCompileCPU}.CappedBy(pl.Ceiling))
}

// checkNames refuses files in the place of those that brig adds on each test, which could not be made then.
func checkNames(part string, files []api.File, source string, reserved []string) error {
	for _, f := range append(slices.Clone(files), api.File{Name: source}) {
		for _, name := range reserved {
			if f.Name != "" && (f.Name == name || strings.HasPrefix(f.Name, name+"/") || strings.HasPrefix(name, f.Name+"/")) {
				return api.Refuse(api.CodeBadFile, "%s: file %q is in the place of %s, which brig adds on each test: rename it", part, f.Name, name)
			}
		}
	}
	return nil
}

// Interact plans the run of the interactor of a job on one test of the program p. Its wall clock also runs
// while it waits for the program.
func (j *Job) Interact(t api.Test, p *Run, answer []byte, feedback []api.File) *Run {
	one := *j.Interactor.Run
	one.Argv = slices.Concat(one.Argv, judge.InteractionOf(j.Request.Interactor.Protocol).Args(slices.Concat(j.Request.Interactor.Args, t.CheckArgs)))
	one.Files = slices.Concat(one.Files, []api.File{{Name: judge.InputFile, Content: p.Stdin}, {Name: judge.AnswerFile, Content: answer}}, feedback)
	one.Dirs = []string{judge.FeedbackDir}
	one.Limits.Wall += p.Limits.Wall
	return &one
}

// Check plans the run of the checker of a job on the output of one test. feedback are the files that it
// left in the passes before.
func (j *Job) Check(t api.Test, input, output, answer []byte, feedback []api.File) *Run {
	c, p := j.Request.Check, judge.ProtocolOf(j.Request.Check.Protocol)
	one := *j.Checker.Run
	one.Argv = slices.Concat(one.Argv, p.Args(slices.Concat(c.Args, t.CheckArgs)))
	one.Files = slices.Concat(one.Files, []api.File{
		{Name: p.Files[0], Content: input}, {Name: p.Files[1], Content: output}, {Name: p.Files[2], Content: answer},
	}, feedback)
	one.Dirs = []string{judge.FeedbackDir}
	if p.Stdin {
		one.Stdin = output
	}
	return &one
}
