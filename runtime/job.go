package runtime

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/runtime/plan"
)

// runJob runs a job through its stages. A job that had a slot once waits for further ones, so
// that a compiled program is also run.
func (r *runner) runJob(ctx context.Context, j *plan.Job, streams runStreams, begun time.Duration) (api.Result, error) {
	res, err := r.runStages(ctx, j, streams, begun)
	var source *plan.InvalidSource
	if errors.As(err, &source) {
		return compileFailed(j, r.invalidSourceResult(cmp.Or(j.Compile, j.Run), source)), nil
	}
	return res, err
}

func (r *runner) runStages(ctx context.Context, j *plan.Job, streams runStreams, begun time.Duration) (api.Result, error) {
	if err := j.CheckMemory(); err != nil {
		return api.Result{}, err
	}
	var compiled *api.Compilation
	admitted := false
	if j.Compile != nil {
		if err := streams.retention.add(compileRetention); err != nil {
			return api.Result{}, err
		}
		made, failed, err := r.compile(ctx, j.Compile, begun, false)
		if err != nil {
			return api.Result{}, err
		}
		if failed != nil {
			return compileFailed(j, *failed), nil
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
		res, err = r.runTests(ctx, j, streams, admitted)
	} else if err = streams.retention.add(maxRetained(j.Run, streams.Stdout != nil)); err == nil {
		res, err = r.execute(ctx, j.Run, streams, begun, admitted)
	}
	var artifact *plan.InvalidArtifact
	if errors.As(err, &artifact) {
		return compileFailed(j, r.invalidArtifactResult(j.Compile, *compiled, artifact)), nil
	}
	res.Compile = compiled
	return res, err
}

// compileFailed is the result of a job that ended with its compile stage.
func compileFailed(j *plan.Job, res api.Result) api.Result {
	if len(j.Request.Tests) > 0 {
		s := api.Summarize(len(j.Request.Tests), nil)
		s.Verdict = res.Verdict
		res.Summary = &s
	}
	return res
}
