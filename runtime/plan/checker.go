package plan

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/judge"
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
	j, err := pl.judgeJob(ctx, pl.runOfChecker(c, mode), caller)
	if err != nil {
		return nil, api.About("check", err)
	}
	j.Run.MaxKept = [2]api.Size{judge.MaxStream, judge.MaxStream}
	return j, nil
}

// judgeJob plans the run of what judges a program. The run is checked here, because nobody has received it: it is made
// of the request, with files and limits that brig adds.
func (pl *Planner) judgeJob(ctx context.Context, r api.Run, caller api.Caller) (*Job, error) {
	if err := r.Validate(); err != nil {
		return nil, err
	}
	return pl.Job(ctx, r, caller)
}

func (pl *Planner) runOfChecker(c api.Check, mode api.Mode) api.Run {
	r := c.Run()
	r.Mode = mode
	if c.Protocol == api.ProtocolPython {
		r.Files = append(slices.Clone(r.Files), api.File{Name: judge.PythonChecker, Content: r.Source})
		r.Source, r.SourceName, r.Language = judge.PythonWrapper, "", cmp.Or(r.Language, api.PythonCheckers)
	}
	r.Limits = pl.judgeLimits(r, c.Protocol)
	r.CompileLimits = pl.judgeCompileLimits(r)
	r.Collect = api.Collect{Globs: judge.ProtocolOf(c.Protocol).Collect}
	r.Collect.None = len(r.Collect.Globs) == 0
	return r
}

// interactor plans the interactor of a run, in the same way. program are the limits of the one that it talks with.
func (pl *Planner) interactor(ctx context.Context, of api.Run, program api.Limits, caller api.Caller) (*Job, error) {
	i := *of.Interactor
	added := []string{judge.InputFile, judge.AnswerFile, judge.FeedbackDir}
	switch in := judge.InteractionOf(i.Protocol); {
	case in.Manager:
		added = []string{judge.ManagerInput}
	case in.Unjudged:
		added = nil
	}
	if err := checkNames("interactor", i.Files, i.SourceName, added); err != nil {
		return nil, err
	}

	r := pl.runOfInteractor(i, of.Mode, program)
	if i.Protocol == judge.ProtocolCalls {
		r.Requirements, r.Index = of.Requirements, of.Index
	}

	j, err := pl.judgeJob(ctx, r, caller)
	if err != nil {
		return nil, api.About("interactor", err)
	}

	j.Run.MaxKept = [2]api.Size{judge.MaxStream, judge.MaxStream}
	switch in := judge.InteractionOf(i.Protocol); {
	case in.Manager:
		j.Run.opensPipes()
	case in.Unjudged: // its stdout is the program's stdin
		j.Run.MaxKept = [2]api.Size{1, KeptTestOutput(of)}
	}
	return j, nil
}

func (pl *Planner) runOfInteractor(i api.Interactor, mode api.Mode, program api.Limits) api.Run {
	r := i.Run()
	r.Mode = mode
	if judge.InteractionOf(i.Protocol).Manager && r.Limits.CPU == 0 {
		// As in CMS: it may compute as long as all processes, because it may do as much as they do.
		r.Limits.CPU = max(judgeCPU, api.Duration(i.ProcessCount())*(program.CPU+api.Duration(time.Second)))
		if maximum := pl.Ceiling.CPU; maximum > 0 {
			r.Limits.CPU = min(r.Limits.CPU, maximum)
		}
	}

	r.Limits = pl.judgeLimits(r, i.Protocol)
	r.CompileLimits = pl.judgeCompileLimits(r)
	if i.Collect == nil {
		r.Collect = api.Collect{Globs: judge.InteractionOf(i.Protocol).Collect}
		r.Collect.None = len(r.Collect.Globs) == 0
	}
	return r
}

// judgeMemory is the default memory of what judges a program: at most half of a slot's part of the agent's, so
// that programs and what judges them run in all slots. A limit of its own reserves what it says.
func (pl *Planner) judgeMemory() api.Size {
	const minimum = 256 * api.MiB
	ofSlot := pl.Memory / api.Size(max(pl.Slots, 1))
	return min(judgeMemory, max(ofSlot/2, min(minimum, pl.Memory/2)))
}

// judgeLimits fills in the defaults of what judges a program: those of its language, and then brig's own.
func (pl *Planner) judgeLimits(r api.Run, p api.Protocol) api.Limits {
	lang, err := pl.language(r)
	if err != nil {
		return r.Limits // planning the job reports what is wrong
	}

	ofLanguage := lang.runStage(false).limits

	cpu := judgeCPU
	if p == api.ProtocolKattis {
		cpu = kattisCPU
	}

	cpu = cmp.Or(r.Limits.CPU, ofLanguage.CPU, cpu)
	own := api.Limits{
		CPU:    cpu,
		Wall:   api.BusyWall(cpu),
		Memory: pl.judgeMemory(),
		Output: judgeOutput,
	}

	return r.Limits.Over(ofLanguage.Over(own).CappedBy(pl.Ceiling))
}

// judgeCompileLimits fills in the defaults of the compile stage of what judges a program. It may take long: a
// checker is compiled once for all programs, and testlib.h has 6,000 lines.
func (pl *Planner) judgeCompileLimits(r api.Run) api.Limits {
	lang, err := pl.language(r)
	if err != nil || len(lang.Compile) == 0 || r.Source == nil {
		return r.CompileLimits // planning the job reports what is wrong
	}
	own := api.Limits{CPU: judgeCompileCPU, Wall: api.BusyWall(judgeCompileCPU)}
	return r.CompileLimits.Over(lang.compileStage().limits.Over(own).CappedBy(pl.compileCeiling()))
}

// checkNames refuses files in the place of those that brig adds on each test, which could not be made then.
func checkNames(part string, files []api.File, source string, reserved []string) error {
	for _, f := range append(slices.Clone(files), api.File{Name: source}) {
		for _, name := range reserved {
			if f.Name != "" && (f.Name == name || strings.HasPrefix(f.Name, name+"/") || strings.HasPrefix(name, f.Name+"/")) {
				return api.Refuse(api.CodeBadFile,
					"%s: file %q is in the place of %s, which brig adds on each test: rename it", part, f.Name, name)
			}
		}
	}
	return nil
}

// Interact plans the run of the interactor of a job on one test of the program p. Its wall clock also runs
// while it waits for the program, which may wait for its wall limit and for as long as the interactor computes: so
// a program that waits for ever always ends first.
func (j *Job) Interact(t api.Test, p *Run, answer []byte, feedback []api.File) *Run {
	one, in := *j.Interactor.Run, judge.InteractionOf(j.Request.Interactor.Protocol)
	args := in.Args(slices.Concat(j.Request.Interactor.Args, t.CheckArgs))
	one.Limits.Wall += p.Limits.Wall + one.Limits.CPU
	if in.Unjudged {
		one.Argv = slices.Concat(one.Argv, args)
		return &one
	}
	if in.Manager {
		one.Argv = slices.Concat(one.Argv, pipeNames(2*j.Request.Interactor.ProcessCount()), args)
		one.Stdin = p.Stdin
		one.give([]api.File{{Name: judge.ManagerInput, Content: p.Stdin}})
		return &one
	}

	one.Argv = slices.Concat(one.Argv, args)
	one.give(slices.Concat([]api.File{{Name: judge.InputFile, Content: p.Stdin}, {Name: judge.AnswerFile, Content: answer}}, feedback))
	one.Dirs = []string{judge.FeedbackDir}
	return &one
}

// give adds the files that what judges a test gets of it. They count against its memory, as any input does, and
// its scratch has room for them: its author chose the limit without knowing how large the answers are.
func (p *Run) give(files []api.File) {
	p.Files, p.Beyond = slices.Concat(p.Files, files), files
}

// Process plans one of the processes of the program p of a job: a program with a manager that talks over pipes
// gets their names, and one of several processes its number. The input is the interactor's.
func (j *Job) Process(p *Run, number int) *Run {
	one, i := *p, j.Request.Interactor
	one.Stdin = nil
	if i.ProgramIO == api.FIFOIO {
		one.Argv = slices.Concat(one.Argv, pipeNames(2))
	}
	if i.ProcessCount() > 1 {
		one.Argv = slices.Concat(one.Argv, []string{strconv.Itoa(number)})
	}
	return &one
}

// FirstNamed is the descriptor of the first pipe that a program opens by name (NAMED_FD of
// runtime/cell/cellinit/wire.h).
const FirstNamed = 64

// pipeNames are the names of the first n of these pipes. A descriptor is of no use but to open the pipe by this
// name: reads and writes of it fail.
func pipeNames(n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprintf("/proc/self/fd/%d", FirstNamed+i))
	}
	return names
}

// opensPipes notes that a program opens pipes by name. It does not begin from a template, which expects no
// descriptors that it has not opened itself.
func (p *Run) opensPipes() {
	if p.Template != nil {
		p.Template, p.Cold = nil, "it opens pipes by name"
	}
}

// Check plans the run of the checker of a job on the output of one test. feedback are the files that it
// left in the passes before.
func (j *Job) Check(t api.Test, input, output, answer []byte, feedback []api.File) *Run {
	c, p := j.Request.Check, judge.ProtocolOf(j.Request.Check.Protocol)
	one := *j.Checker.Run
	one.Argv = slices.Concat(one.Argv, p.Args(slices.Concat(c.Args, t.CheckArgs)))
	one.give(slices.Concat([]api.File{
		{Name: p.Files[0], Content: input}, {Name: p.Files[1], Content: output}, {Name: p.Files[2], Content: answer},
	}, feedback))
	one.Dirs = []string{judge.FeedbackDir}
	if p.Stdin {
		one.Stdin = output
	}
	return &one
}
