package plan

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/judge"
	"github.com/brig-sandbox/brig/rootfs"
)

// A Job is a request after planning: its stages, and the tests of the last one.
type Job struct {
	ID                  string
	Compile             *Run // nil: there is nothing to compile or to check
	Run                 *Run // with tests: what they have in common
	Checker, Interactor *Job // of the tests; nil: none

	Request api.Run
}

// Job decides everything about a run that can be decided without touching the host. r is valid: whoever
// received it has called Validate. The errors are for the caller to fix.
func (pl *Planner) Job(ctx context.Context, r api.Run, caller api.Caller) (*Job, error) {
	r.Mode = pl.modeFor(r.Mode)
	if r.Suite != nil {
		return nil, api.Refuse(api.CodeBadRequest,
			"the agent does not read the report of a suite, because the program can forge it: use brig run --suite, "+
				"brig grade --suite, brig batch or POST /v1/runs of the service, or send the command as a run and collect the report")
	}
	if r.CallsFunctions() {
		var err error
		if r, err = pl.withCalls(r); err != nil {
			return nil, err
		}
	}
	if err := pl.checkCpusetsAllowed(r, caller); err != nil {
		return nil, err
	}

	lang, err := pl.language(r)
	if err != nil {
		return nil, err
	}

	compiles := len(lang.Compile) > 0 && r.Source != nil
	if !compiles && (len(r.Flags) > 0 || r.CompileLimits != (api.Limits{})) {
		return nil, api.Refuse(api.CodeBadRequest,
			"language %s has no compile stage: leave out flags and compile_limits", lang.Name)
	}
	if err := lang.CheckFreeFlags(r.FreeFlags); err != nil {
		return nil, err
	}
	if r.Files, err = pl.withBlobs(r.Files); err != nil {
		return nil, err
	}
	if r.StdinBlob != "" {
		if r.Stdin, err = pl.blob("stdin_blob", r.StdinBlob); err != nil {
			return nil, err
		}
	}

	image, err := pl.image(ctx, r, lang)
	if err != nil {
		return nil, err
	}

	lang.setImage(image)
	if image, err = pl.withPackages(r, &lang, image, caller); err != nil {
		return nil, err
	}
	if r.Argv, err = command(r, image); err != nil {
		return nil, err
	}

	given := cmp.Or(r.SourceName, lang.SourceFile)
	main := given
	if compiles {
		main = lang.compiledName(r, given)
	}

	inputs, err := sourceFile(r, main)
	if err != nil {
		return nil, err
	}
	if err := checkTestFiles(r, lang, main, compiles); err != nil {
		return nil, err
	}

	j := &Job{ID: NewID(), Request: r}
	if j.Run, err = pl.run(r, lang, image, main, caller); err != nil {
		return nil, err
	}

	for _, t := range slices.Concat(r.Tests, []api.Test{{}}) {
		if err := j.Run.checkStart(t.Args); err != nil {
			return nil, err
		}
	}

	j.Run.Files = inputs
	if compiles {
		if err := lang.checkNotArtifact(inputs); err != nil {
			return nil, err
		}
		if j.Compile, err = pl.compile(r, lang, image, main, inputs); err != nil {
			return nil, err
		}
		j.Compile.SourceName = given
		j.Run.Files = slices.DeleteFunc(slices.Clone(inputs),
			func(f api.File) bool { return f.Name == main || lang.IsSource(f.Name) })
		j.Compile.ID = j.ID
	}

	if !compiles && len(lang.Syntax) > 0 && r.Source != nil && len(r.Tests) > 0 {
		checked := main
		if r.CallsFunctions() { // main is the loader
			checked = judge.CalledSource
		}
		if j.Compile, err = pl.syntax(r, lang, image, checked, inputs, j.Run.Limits); err != nil {
			return nil, err
		}
		j.Compile.ID = j.ID
	}

	j.Run.ID = j.ID
	if r.Interactor != nil {
		if j.Interactor, err = pl.interactor(ctx, r, j.Run.Limits, caller); err != nil {
			return nil, err
		}
		if r.Interactor.ProgramIO == api.FIFOIO {
			j.Run.opensPipes()
		}
	}

	if r.Check != nil {
		if j.Checker, err = pl.checker(ctx, *r.Check, r.Mode, caller); err != nil {
			return nil, err
		}
		if r.RunsTwice() && r.Interactor == nil { // its stdout is the input of the second run
			j.Checker.Run.MaxKept[0] = judgeOutput
		}
	}

	if err := j.checkStarts(); err != nil {
		return nil, err
	}
	return j, nil
}

// checkNotArtifact refuses an input in the place of what the compiler makes: a caller could run a program that no
// compiler has seen (CMP-15).
func (l Language) checkNotArtifact(inputs []api.File) error {
	i := slices.IndexFunc(inputs, func(f api.File) bool { return l.IsArtifact(f.Name) })
	if i < 0 {
		return nil
	}
	return api.Refuse(api.CodeBadRequest,
		"file %q has the same name as the output of the compiler of %s: leave it out or rename it", inputs[i].Name, l.Name)
}

// CheckMemory refuses a job if the files of a stage leave it no memory.
func (j *Job) CheckMemory() error {
	if j.Compile != nil {
		if err := j.Compile.CheckMemory(); err != nil {
			return err
		}
	}
	return j.Run.CheckMemory()
}

// run plans the run stage, except for its files.
func (pl *Planner) run(r api.Run, lang Language, image rootfs.Image, main string, caller api.Caller) (*Run, error) {
	s := lang.runStage(r.Interactive)
	limits, err := EffectiveLimits(terminalLimits(r.Limits, r.TTY, pl.Ceiling), r.Preset, s.limits, pl.Ceiling)
	if err != nil {
		return nil, err
	}
	if err := pl.cpusetWithin(limits.Cpuset); err != nil {
		return nil, err
	}

	f, err := pl.policy(r, s.tier, caller)
	if err == nil {
		err = f.checkTerminal(r.TTY)
	}
	if err != nil {
		return nil, err
	}

	what := program{args: r.Argv}
	if r.Source != nil {
		what.command, what.words.Source, what.words.Run = s.command, main, r.FreeFlags.Run
	}

	p := s.newRun(what, terminalEnv(r.Env, r.TTY), limits)
	p.Stage = api.StageRun
	p.Mode = r.Mode
	p.Dir = startDir(r.Language, image)
	p.Stdin = r.Stdin
	p.MergeStderr = r.MergeStderr || r.TTY != nil
	p.TTY = r.TTY
	p.Collect = r.Collect
	p.Labels = r.Labels
	p.Timeline = r.Timeline
	if len(r.Tests) > 0 && len(p.Collect.Globs) == 0 {
		p.Collect.None = true
	}

	p.Once = p.Mode != api.Strict || r.WritableRoot || f.ReachesKeyring
	p.Cell = cellFor(image, f, s.fullProc, p.Mode)
	p.Cell.Key.Alias = r.WorkdirAlias
	if r.WritableRoot {
		p.Cell.makeWritable(limits)
	}
	if p.Network, err = pl.network(r, f, caller); err != nil {
		return nil, err
	}

	p.Cell.Key.Network = p.Network != nil
	p.Template, p.Cold, err = pl.template(r, lang, image, p)
	return p, err
}

// command returns the arguments of a run. A run that has neither a source nor a command gets the
// command that its image names.
func command(r api.Run, image rootfs.Image) ([]string, error) {
	if r.Source != nil || len(r.Argv) > 0 {
		return r.Argv, nil
	}
	argv := image.Config.Command()
	if len(argv) == 0 {
		return nil, api.Refuse(api.CodeBadRequest,
			"there is nothing to run: set argv; image %.80q names no command of its own", r.Image)
	}
	return argv, nil
}

// startDir is the directory in which a program starts: that of its image, or /box, where the source of
// a language is.
func startDir(language string, image rootfs.Image) string {
	if language != "" {
		return ""
	}
	return image.Config.WorkingDir
}

// ReadsOutput reports whether the whole output of a test, stdout or its file, is needed when it has
// ended.
func (j *Job) ReadsOutput(t api.Test) bool {
	alone := j.Request.Interactor == nil || j.Request.Interactor.Passes > 0
	return alone && (t.Compares() || j.Request.Check != nil)
}

// Test plans one test of a job, except for what TestContent loads.
func (pl *Planner) Test(j *Job, t api.Test) (*Run, error) {
	one := *j.Run
	if t.Limits != (api.Limits{}) {
		lang, err := pl.language(j.Request)
		if err != nil {
			return nil, err
		}

		limits, err := EffectiveLimits(t.Limits.Over(j.Request.Limits), j.Request.Preset,
			lang.runStage(false).limits, pl.Ceiling)
		if err != nil {
			return nil, err
		}
		if err := pl.cpusetWithin(limits.Cpuset); err != nil {
			return nil, err
		}

		one.setLimits(limits)
	}

	if err := pl.checkBlobs(t); err != nil {
		return nil, err
	}

	pl.nameFiles(&one, j.Request, t)
	if err := one.CheckMemory(); err != nil {
		return nil, err
	}

	one.MaxKept = [2]api.Size{KeptTestOutput(j.Request), KeptTestOutput(j.Request)}
	if j.ReadsOutput(t) && one.OutputFile == "" {
		one.MaxKept[0] = one.Limits.Output
	}

	one.Argv = slices.Concat(one.Argv, t.Args)
	if l := one.Limits; one.Template != nil &&
		(!one.Template.takes(l) || l.CPUs != j.Run.Limits.CPUs || l.Cpuset != j.Run.Limits.Cpuset) {
		one.Template, one.Cold = nil, coldLimits
	}
	return &one, nil
}

// TestContent completes the plan of a test with its stdin and its files, and returns its expected
// output. It loads those that are blobs, so it is called when the test has a slot and a reservation
// for them.
func (pl *Planner) TestContent(p *Run, t api.Test) (expected []byte, err error) {
	if t.StdinBlob != "" {
		if p.Stdin, err = pl.blob(fmt.Sprintf("stdin_blob of test %q", t.ID), t.StdinBlob); err != nil {
			return nil, err
		}
	}
	if p.Given, err = pl.withBlobs(p.Given); err != nil {
		return nil, err
	}

	p.unloaded = 0
	switch {
	case t.ExpectedBlob != "":
		expected, err = pl.blob(fmt.Sprintf("expected_blob of test %q", t.ID), t.ExpectedBlob)
	case t.Expected != nil:
		expected = *t.Expected
	}

	return expected, err
}

// sourceFile adds the source to the files under its name.
func sourceFile(r api.Run, name string) ([]api.File, error) {
	if r.Source == nil {
		return r.Files, nil
	}
	for _, f := range r.Files {
		if f.Name == name {
			return nil, api.Refuse(api.CodeBadFile,
				"file %q has the same name as the file of the source: rename it or set source_name", name)
		}
	}
	return append(slices.Clone(r.Files), api.File{Name: name, Content: r.Source}), nil
}

// KeptTestOutput is how much of each stream the result of a test of r carries.
func KeptTestOutput(r api.Run) api.Size {
	return cmp.Or(r.KeepOutput, min(api.KeepOutput, maxRetainedByTests/api.Size(KeptOfTest(r)*max(len(r.Tests), 1))))
}

// KeptOfTest is the number of outputs that the result of a test of r carries: stdout, stderr and
// perhaps a file.
func KeptOfTest(r api.Run) int {
	if r.OutputFile != "" {
		return 3
	}
	return 2
}

// maxRetainedByTests is how much of its streams the results of all tests carry together if the
// request does not set a size per test.
const maxRetainedByTests = 32 * api.MiB
