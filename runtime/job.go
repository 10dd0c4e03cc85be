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

// A job is a Run, decided: its stages, and the tests of the last one.
type job struct {
	id      string
	compile *plan // nil: there is nothing to compile, nor to check
	run     *plan // with tests: what they have in common
	ask     api.Run
}

// plan decides everything about a run that can be decided before the host is
// touched. Its errors are the caller's to mend.
func (h *Host) plan(r api.Run, caller Caller) (*job, error) {
	if err := r.Validate(); err != nil {
		return nil, err
	}
	if err := h.mayNameAll(r, caller); err != nil {
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
	j := &job{id: runID(), ask: r}
	if j.run, err = h.planRun(r, lang, image, main, caller); err != nil {
		return nil, err
	}
	j.run.files = inputs
	if compiles {
		// Or a program could be brought along that no compiler has seen (CMP-15).
		if i := slices.IndexFunc(inputs, func(f api.File) bool { return lang.IsArtifact(f.Name) }); i >= 0 {
			return nil, api.Refuse(api.CodeBadRequest, "file %q lies where the compiler of %s puts what it makes: leave it out or rename it", inputs[i].Name, lang.Name)
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

// fits refuses a job whose files leave a stage no memory.
func (j *job) fits() error {
	if j.compile != nil {
		if err := j.compile.fits(); err != nil {
			return err
		}
	}
	return j.run.fits()
}

// planRun plans the run stage, but for its files.
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
		limits: limits, collect: r.Collect, labels: r.Labels, oomExit: lang.OOMExitCode, oomSays: lang.OOMSays,
	}
	if r.Source != nil {
		p.source = main
		p.argv = rootfs.Words{Source: main, Memory: limits.Memory, Stack: limits.Stack}.Expand(lang.Run, r.Argv)
	}
	if len(r.Tests) > 0 && len(p.collect.Globs) == 0 {
		p.collect.None = true
	}
	p.once = p.mode != api.Strict || r.WritableRoot || f.keys
	p.cell = cellFor(image, f, lang.FullProc, p.mode)
	if r.WritableRoot {
		p.cell.writable(limits)
	}
	return p, nil
}

// planTest plans one test of a job, but for what testContent loads.
func (h *Host) planTest(j *job, t api.Test) (*plan, error) {
	one := *j.run
	if t.Limits != (api.Limits{}) {
		lang, err := h.language(j.ask)
		if err != nil {
			return nil, err
		}
		if one.limits, err = effectiveLimits(t.Limits.Over(j.ask.Limits), j.ask.Preset, lang.Limits, h.cfg.Ceiling); err != nil {
			return nil, err
		}
		if err := h.cpusetWithin(one.limits.Cpuset); err != nil {
			return nil, err
		}
	}
	if err := one.fits(); err != nil {
		return nil, err
	}
	one.keep = [2]api.Size{keepOfTest(j.ask), keepOfTest(j.ask)}
	if t.Compares() {
		one.keep[0] = one.limits.Output
	}
	one.argv = slices.Concat(j.run.argv, t.Args)
	return &one, nil
}

// testContent gives a test's stdin and what it should say, which is loaded where they are
// blobs: when the test has a slot, and the room to keep them.
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

// blob returns the content of one the agent holds.
func (h *Host) blob(digest string) ([]byte, error) {
	if h.cfg.Blobs == nil {
		return nil, api.Refuse(api.CodeUnsupported, "this agent keeps no blobs: send the content")
	}
	b, err := h.cfg.Blobs.Get(digest)
	if errors.Is(err, cache.ErrNotFound) {
		return nil, api.Refuse(api.CodeNoBlob, "blob %s is not here, or no more: PUT /v1/blobs/%s and send the run again", digest, digest)
	}
	return b, err
}

// carryOut takes a job through its stages. Whoever was given a slot once waits for
// the next ones: a program that was compiled is also run.
func (h *Host) carryOut(ctx context.Context, j *job, streams Streams, begun time.Duration) (api.Result, error) {
	res, err := h.carryOutFitting(ctx, j, streams, begun)
	var source *unfitSource
	if errors.As(err, &source) {
		return j.unrun(h.unread(cmp.Or(j.compile, j.run), source)), nil
	}
	return res, err
}

func (h *Host) carryOutFitting(ctx context.Context, j *job, streams Streams, begun time.Duration) (api.Result, error) {
	if err := j.fits(); err != nil {
		return api.Result{}, err
	}
	var compiled *api.Compilation
	admitted := false
	if j.compile != nil {
		if err := streams.kept.add(compileKeeps); err != nil {
			return api.Result{}, err
		}
		made, failed, err := h.compile(ctx, j.compile, begun, false)
		if err != nil {
			return api.Result{}, err
		}
		if failed != nil {
			return j.unrun(*failed), nil
		}
		j.run.files, j.run.made = without(j.run.files, made.files), made.files
		admitted = !made.info.Cached
		if err := streams.kept.add(min(made.info.Size, compileKeeps) - compileKeeps); err != nil {
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
	if len(j.ask.Tests) > 0 {
		res, err = h.runTests(ctx, j, streams, admitted)
	} else if err = streams.kept.add(j.run.keeps(streams.Stdout != nil)); err == nil {
		res, err = h.execute(ctx, j.run, streams, begun, admitted)
	}
	var artifact *unfitArtifact
	if errors.As(err, &artifact) {
		return j.unrun(h.refusal(j.compile, *compiled, artifact)), nil
	}
	res.Compile = compiled
	return res, err
}

// unrun is the result of a job that ended with its compile stage.
func (j *job) unrun(res api.Result) api.Result {
	if len(j.ask.Tests) > 0 {
		s := api.Summarize(len(j.ask.Tests), nil)
		s.Verdict = res.Verdict
		res.Summary = &s
	}
	return res
}
