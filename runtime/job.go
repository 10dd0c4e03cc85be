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
type job struct {
	id      string
	compile *plan // nil: there is nothing to compile or to check
	run     *plan // with tests: what they have in common
	request api.Run
}

// plan decides everything about a run that can be decided without touching the host. Its errors are
// for the caller to fix.
func (h *Host) plan(r api.Run, caller Caller) (*job, error) {
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
	j := &job{id: runID(), request: r}
	if j.run, err = h.planRun(r, lang, image, main, caller); err != nil {
		return nil, err
	}
	j.run.files = inputs
	if compiles {
		// Otherwise a caller could bring a program that no compiler has seen (CMP-15).
		if i := slices.IndexFunc(inputs, func(f api.File) bool { return lang.IsArtifact(f.Name) }); i >= 0 {
			return nil, api.Refuse(api.CodeBadRequest, "file %q has the same name as the output of the compiler of %s: leave it out or rename it", inputs[i].Name, lang.Name)
		}
		if j.compile, err = h.planCompile(r, lang, image, main, inputs); err != nil {
			return nil, err
		}
		j.run.files = slices.DeleteFunc(slices.Clone(inputs), func(f api.File) bool { return f.Name == main || lang.IsSource(f.Name) })
		j.compile.id = j.id
	}
	if !compiles && len(lang.Syntax) > 0 && r.Source != nil && len(r.Tests) > 0 {
		if j.compile, err = h.planSyntax(r, lang, image, main, inputs, j.run.limits); err != nil {
			return nil, err
		}
		j.compile.id = j.id
	}
	j.run.id = j.id
	return j, nil
}

// checkMemory refuses a job if the files of a stage leave it no memory.
func (j *job) checkMemory() error {
	if j.compile != nil {
		if err := j.compile.checkMemory(); err != nil {
			return err
		}
	}
	return j.run.checkMemory()
}

// planRun plans the run stage, except for its files.
func (h *Host) planRun(r api.Run, lang language, image rootfs.Image, main string, caller Caller) (*plan, error) {
	limits, err := effectiveLimits(r.Limits, r.Preset, lang.Limits, h.cfg.Ceiling)
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
	p := &plan{
		stage:  api.StageRun,
		mode:   cmp.Or(r.Mode, api.Strict),
		argv:   r.Argv,
		env:    environment(lang.env(r.Interactive), r.Env),
		stdin:  r.Stdin,
		limits: limits, collect: r.Collect, labels: r.Labels, oomExitCode: lang.OOMExitCode, oomMessage: lang.OOMSays,
	}
	if r.Source != nil {
		p.source = main
		p.argv = rootfs.Placeholders{Source: main, Memory: limits.Memory, Stack: limits.Stack}.Expand(lang.Run, r.Argv)
	}
	if len(r.Tests) > 0 && len(p.collect.Globs) == 0 {
		p.collect.None = true
	}
	p.once = p.mode != api.Strict || r.WritableRoot || f.reachesKeyring
	p.cell = cellFor(image, f, lang.FullProc, p.mode)
	if r.WritableRoot {
		p.cell.writable(limits)
	}
	return p, nil
}

// planTest plans one test of a job, except for what testContent loads.
func (h *Host) planTest(j *job, t api.Test) (*plan, error) {
	one := *j.run
	if t.Limits != (api.Limits{}) {
		lang, err := h.language(j.request)
		if err != nil {
			return nil, err
		}
		if one.limits, err = effectiveLimits(t.Limits.Over(j.request.Limits), j.request.Preset, lang.Limits, h.cfg.Ceiling); err != nil {
			return nil, err
		}
		if err := h.cpusetWithin(one.limits.Cpuset); err != nil {
			return nil, err
		}
	}
	if err := one.checkMemory(); err != nil {
		return nil, err
	}
	one.maxKept = [2]api.Size{keptTestOutput(j.request), keptTestOutput(j.request)}
	if t.Compares() {
		one.maxKept[0] = one.limits.Output
	}
	one.argv = slices.Concat(j.run.argv, t.Args)
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
func (h *Host) runJob(ctx context.Context, j *job, streams Streams, begun time.Duration) (api.Result, error) {
	res, err := h.runStages(ctx, j, streams, begun)
	var source *invalidSource
	if errors.As(err, &source) {
		return j.compileFailed(h.invalidSourceResult(cmp.Or(j.compile, j.run), source)), nil
	}
	return res, err
}

func (h *Host) runStages(ctx context.Context, j *job, streams Streams, begun time.Duration) (api.Result, error) {
	if err := j.checkMemory(); err != nil {
		return api.Result{}, err
	}
	var compiled *api.Compilation
	admitted := false
	if j.compile != nil {
		if err := streams.retention.add(compileRetention); err != nil {
			return api.Result{}, err
		}
		made, failed, err := h.compile(ctx, j.compile, begun, false)
		if err != nil {
			return api.Result{}, err
		}
		if failed != nil {
			return j.compileFailed(*failed), nil
		}
		j.run.files, j.run.builtFiles = withoutNames(j.run.files, made.files), made.files
		admitted = !made.info.Cached
		if err := streams.retention.add(min(made.info.Size, compileRetention) - compileRetention); err != nil {
			return api.Result{}, err
		}
		if !j.compile.syntax {
			compiled = &made.info
		}
		if compiled != nil && streams.Compiled != nil {
			streams.Compiled(made.info)
		}
		begun = monotonic()
	}
	var res api.Result
	var err error
	if len(j.request.Tests) > 0 {
		res, err = h.runTests(ctx, j, streams, admitted)
	} else if err = streams.retention.add(j.run.maxRetained(streams.Stdout != nil)); err == nil {
		res, err = h.execute(ctx, j.run, streams, begun, admitted)
	}
	var artifact *invalidArtifact
	if errors.As(err, &artifact) {
		return j.compileFailed(h.invalidArtifactResult(j.compile, *compiled, artifact)), nil
	}
	res.Compile = compiled
	return res, err
}

// compileFailed is the result of a job that ended with its compile stage.
func (j *job) compileFailed(res api.Result) api.Result {
	if len(j.request.Tests) > 0 {
		s := api.Summarize(len(j.request.Tests), nil)
		s.Verdict = res.Verdict
		res.Summary = &s
	}
	return res
}
