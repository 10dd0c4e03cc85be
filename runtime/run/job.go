package run

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/runtime/linux"
	"github.com/brig-sandbox/brig/runtime/plan"
)

// runJob runs a job through its stages. A job that had a slot once waits for further ones, so
// that a compiled program is also run.
func (r *Runner) runJob(ctx context.Context, j *plan.Job, streams Streams, begun time.Duration) (api.Result, error) {
	res, err := r.runStages(ctx, j, streams, begun)
	var source *plan.InvalidSource
	if errors.As(err, &source) {
		return compileFailed(j, r.InvalidSourceResult(cmp.Or(j.Compile, j.Run), source)), nil
	}
	return res, err
}

func (r *Runner) runStages(ctx context.Context, j *plan.Job, streams Streams, begun time.Duration) (api.Result, error) {
	if err := j.CheckMemory(); err != nil {
		return api.Result{}, err
	}

	for _, one := range []struct {
		part string
		job  *plan.Job
	}{{"checker", j.Checker}, {"interactor", j.Interactor}} {
		if one.job == nil {
			continue
		}
		if err := one.job.CheckMemory(); err != nil {
			return api.Result{}, ofProgram(one.part, err)
		}
	}

	var compiled *api.Compilation
	admitted := false
	if j.Compile != nil {
		made, failed, err := r.Compile(ctx, j.Compile, streams.Retention, begun, streams.Turn(false))
		if err != nil {
			return api.Result{}, err
		}
		if failed != nil {
			return compileFailed(j, *failed), nil
		}

		j.Run.Files, j.Run.Built = withoutNames(j.Run.Files, made.Files), made.Files
		admitted = !made.Info.Cached
		if !j.Compile.Syntax {
			compiled = &made.Info
		}
		if compiled != nil && streams.Compiled != nil {
			streams.Compiled(made.Info)
		}

		begun = linux.Monotonic()
	}

	from, err := r.start(ctx, j.Run)
	if err != nil {
		return api.Result{}, err
	}
	defer from.release()

	checker, err := r.prepareJudge(ctx, "checker", j.Checker, streams, &admitted)
	if err != nil {
		return api.Result{}, err
	}
	defer checker.release()

	interactor, err := r.prepareJudge(ctx, "interactor", j.Interactor, streams, &admitted)
	if err != nil {
		return api.Result{}, err
	}
	defer interactor.release()

	var res api.Result
	if len(j.Request.Tests) > 0 {
		res, err = r.runTests(ctx, j, from, checker, interactor, streams, admitted)
	} else {
		turn, stage := streams.Turn(admitted), streams.Retention.Stage(MaxRetained(j.Run, streams.Stdout != nil))
		turn.Memory = stage
		res, err = r.execute(ctx, j.Run, from, streams, begun, turn)
		stage.End(int64(res.Content()))
	}

	var artifact *plan.InvalidArtifact
	if errors.As(err, &artifact) && compiled != nil {
		return compileFailed(j, r.InvalidArtifactResult(j.Compile, *compiled, artifact)), nil
	}

	res.Compile = compiled
	if set := j.Run.Packages; set != nil && err == nil {
		about := plan.DescribePackages(*set)
		res.Packages = &about
	}
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
