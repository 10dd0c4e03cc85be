package runtime

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/cache"
	"github.com/brig-sandbox/brig/rootfs"
)

// A job is a Run after planning: its stages, and the tests of the last one.
type Job struct {
	ID      string
	Compile *Run // nil: there is nothing to compile or to check
	Run     *Run // with tests: what they have in common
	Request api.Run
}

// plan decides everything about a run that can be decided without touching the host. Its errors are
// for the caller to fix.
func (h *Host) plan(r api.Run, caller Caller) (*Job, error) {
	if err := r.Validate(); err != nil {
		return nil, err
	}
	if err := h.checkCpusetsAllowed(r, caller); err != nil {
		return nil, err
	}
	lang, err := h.language(r)
	if err != nil {
		return nil, err
	}
	compiles := len(lang.Compile) > 0 && r.Source != nil
	if !compiles && (len(r.Flags) > 0 || r.CompileLimits != (api.Limits{})) {
		return nil, api.Refuse(api.CodeBadRequest, "language %s has no compile stage: leave out flags and compile_limits", lang.Name)
	}
	if r.Files, err = h.withBlobs(r.Files); err != nil {
		return nil, err
	}
	if r.StdinBlob != "" {
		if r.Stdin, err = h.blob(r.StdinBlob); err != nil {
			return nil, err
		}
	}
	image, err := h.image(r, lang)
	if err != nil {
		return nil, err
	}
	main := cmp.Or(r.SourceName, lang.SourceFile)
	inputs, err := sourceFile(r, main)
	if err != nil {
		return nil, err
	}
	j := &Job{ID: NewID(), Request: r}
	if j.Run, err = h.planRun(r, lang, image, main, caller); err != nil {
		return nil, err
	}
	j.Run.Files = inputs
	if compiles {
		// Otherwise a caller could bring a program that no compiler has seen (CMP-15).
		if i := slices.IndexFunc(inputs, func(f api.File) bool { return lang.IsArtifact(f.Name) }); i >= 0 {
			return nil, api.Refuse(api.CodeBadRequest, "file %q has the same name as the output of the compiler of %s: leave it out or rename it", inputs[i].Name, lang.Name)
		}
		if j.Compile, err = h.planCompile(r, lang, image, main, inputs); err != nil {
			return nil, err
		}
		j.Run.Files = slices.DeleteFunc(slices.Clone(inputs), func(f api.File) bool { return f.Name == main || lang.IsSource(f.Name) })
		j.Compile.ID = j.ID
	}
	if !compiles && len(lang.Syntax) > 0 && r.Source != nil && len(r.Tests) > 0 {
		if j.Compile, err = h.planSyntax(r, lang, image, main, inputs, j.Run.Limits); err != nil {
			return nil, err
		}
		j.Compile.ID = j.ID
	}
	j.Run.ID = j.ID
	return j, nil
}

// checkMemory refuses a job if the files of a stage leave it no memory.
func (j *Job) CheckMemory() error {
	if j.Compile != nil {
		if err := j.Compile.CheckMemory(); err != nil {
			return err
		}
	}
	return j.Run.CheckMemory()
}

// planRun plans the run stage, except for its files.
func (h *Host) planRun(r api.Run, lang language, image rootfs.Image, main string, caller Caller) (*Run, error) {
	limits, err := EffectiveLimits(r.Limits, r.Preset, lang.Limits, h.cfg.Ceiling)
	if err != nil {
		return nil, err
	}
	if err := h.cpusetWithin(limits.Cpuset); err != nil {
		return nil, err
	}
	f, err := h.filterFor(r, lang, caller)
	if err != nil {
		return nil, err
	}
	p := &Run{
		Stage:  api.StageRun,
		Mode:   cmp.Or(r.Mode, api.Strict),
		Argv:   r.Argv,
		Env:    Environment(lang.env(r.Interactive), r.Env),
		Stdin:  r.Stdin,
		Limits: limits, Collect: r.Collect, Labels: r.Labels, OOMExitCode: lang.OOMExitCode, OOMMessage: lang.OOMSays,
	}
	if r.Source != nil {
		p.Source = main
		p.Argv = rootfs.Placeholders{Source: main, Memory: limits.Memory, Stack: limits.Stack}.Expand(lang.Run, r.Argv)
	}
	if len(r.Tests) > 0 && len(p.Collect.Globs) == 0 {
		p.Collect.None = true
	}
	p.Once = p.Mode != api.Strict || r.WritableRoot || f.reachesKeyring
	p.Cell = cellFor(image, f, lang.FullProc, p.Mode)
	if r.WritableRoot {
		p.Cell.writable(limits)
	}
	return p, nil
}

// planTest plans one test of a job, except for what testContent loads.
func (h *Host) planTest(j *Job, t api.Test) (*Run, error) {
	one := *j.Run
	if t.Limits != (api.Limits{}) {
		lang, err := h.language(j.Request)
		if err != nil {
			return nil, err
		}
		if one.Limits, err = EffectiveLimits(t.Limits.Over(j.Request.Limits), j.Request.Preset, lang.Limits, h.cfg.Ceiling); err != nil {
			return nil, err
		}
		if err := h.cpusetWithin(one.Limits.Cpuset); err != nil {
			return nil, err
		}
	}
	if err := one.CheckMemory(); err != nil {
		return nil, err
	}
	one.MaxKept = [2]api.Size{KeptTestOutput(j.Request), KeptTestOutput(j.Request)}
	if t.Compares() {
		one.MaxKept[0] = one.Limits.Output
	}
	one.Argv = slices.Concat(j.Run.Argv, t.Args)
	return &one, nil
}

// testContent returns a test's stdin and its expected output. It loads those that are blobs, so it
// is called when the test has a slot and a reservation for them.
func (h *Host) testContent(t api.Test) (stdin, expected []byte, err error) {
	stdin = t.Stdin
	if t.StdinBlob != "" {
		if stdin, err = h.blob(t.StdinBlob); err != nil {
			return nil, nil, err
		}
	}
	switch {
	case t.ExpectedBlob != "":
		expected, err = h.blob(t.ExpectedBlob)
	case t.Expected != nil:
		expected = *t.Expected
	}
	return stdin, expected, err
}

// withBlobs returns files with the content of those that name a blob.
func (h *Host) withBlobs(files []api.File) ([]api.File, error) {
	if !slices.ContainsFunc(files, func(f api.File) bool { return f.Blob != "" }) {
		return files, nil
	}
	files = slices.Clone(files)
	for i, f := range files {
		if f.Blob == "" {
			continue
		}
		content, err := h.blob(f.Blob)
		if err != nil {
			return nil, err
		}
		files[i].Content, files[i].Blob = content, ""
	}
	return files, nil
}

// blob returns the content of a blob that the agent holds.
func (h *Host) blob(digest string) ([]byte, error) {
	if h.cfg.Blobs == nil {
		return nil, api.Refuse(api.CodeUnsupported, "this agent stores no blobs: send the content")
	}
	b, err := h.cfg.Blobs.Get(digest)
	if errors.Is(err, cache.ErrNotFound) {
		return nil, api.Refuse(api.CodeNoBlob, "blob %s is not stored here, or was removed: PUT /v1/blobs/%s and send the run again", digest, digest)
	}
	return b, err
}

// runJob runs a job through its stages. A job that had a slot once waits for further ones, so
// that a compiled program is also run.
func (h *Host) runJob(ctx context.Context, j *Job, streams Streams, begun time.Duration) (api.Result, error) {
	res, err := h.runStages(ctx, j, streams, begun)
	var source *InvalidSource
	if errors.As(err, &source) {
		return j.compileFailed(h.invalidSourceResult(cmp.Or(j.Compile, j.Run), source)), nil
	}
	return res, err
}

func (h *Host) runStages(ctx context.Context, j *Job, streams Streams, begun time.Duration) (api.Result, error) {
	if err := j.CheckMemory(); err != nil {
		return api.Result{}, err
	}
	var compiled *api.Compilation
	admitted := false
	if j.Compile != nil {
		if err := streams.retention.add(compileRetention); err != nil {
			return api.Result{}, err
		}
		made, failed, err := h.compile(ctx, j.Compile, begun, false)
		if err != nil {
			return api.Result{}, err
		}
		if failed != nil {
			return j.compileFailed(*failed), nil
		}
		j.Run.Files, j.Run.Built = withoutNames(j.Run.Files, made.files), made.files
		admitted = !made.info.Cached
		if err := streams.retention.add(min(made.info.Size, compileRetention) - compileRetention); err != nil {
			return api.Result{}, err
		}
		if !j.Compile.Syntax {
			compiled = &made.info
		}
		if compiled != nil && streams.Compiled != nil {
			streams.Compiled(made.info)
		}
		begun = monotonic()
	}
	var res api.Result
	var err error
	if len(j.Request.Tests) > 0 {
		res, err = h.runTests(ctx, j, streams, admitted)
	} else if err = streams.retention.add(j.Run.maxRetained(streams.Stdout != nil)); err == nil {
		res, err = h.execute(ctx, j.Run, streams, begun, admitted)
	}
	var artifact *invalidArtifact
	if errors.As(err, &artifact) {
		return j.compileFailed(h.invalidArtifactResult(j.Compile, *compiled, artifact)), nil
	}
	res.Compile = compiled
	return res, err
}

// compileFailed is the result of a job that ended with its compile stage.
func (j *Job) compileFailed(res api.Result) api.Result {
	if len(j.Request.Tests) > 0 {
		s := api.Summarize(len(j.Request.Tests), nil)
		s.Verdict = res.Verdict
		res.Summary = &s
	}
	return res
}
