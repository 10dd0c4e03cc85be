package run

import (
	"cmp"
	"context"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/judge"
	"github.com/brig-sandbox/brig/runtime/linux"
	"github.com/brig-sandbox/brig/runtime/outputs"
	"github.com/brig-sandbox/brig/runtime/plan"
)

// Result judges the evidence and records everything that the verdict rests on. A program that failed has no verdict if
// files of its image are damaged, which is an error.
func (r *Runner) Result(ctx context.Context, p *plan.Run, o *Outcome, out *outputs.Streams) (api.Result, error) {
	res := api.Result{
		Run:       p.ID,
		Verdict:   judge.Verdict(o.ev, p.Limits),
		Stage:     p.Stage,
		ExitCode:  o.ev.ExitCode,
		Signal:    o.ev.Signal,
		LimitsHit: judge.LimitsHit(o.ev, p.Limits),
		Denial:    o.ev.Denial,
		Logged:    o.logged,
		Refused:   o.refused,
		Usage:     o.usage,
		Timing:    o.timing,
		Timeline:  o.timeline,
		Files:     o.files,
		Skipped:   o.skipped,
		Limits:    p.Limits,
		Labels:    p.Labels,
		Host:      r.host(p),
	}
	if res.LimitsHit == nil {
		res.LimitsHit = []string{}
	}
	if res.Signal != 0 {
		res.SignalName = unix.SignalName(unix.Signal(res.Signal))
	}

	res.Stdout, res.Stderr = out[0].Kept, out[1].Kept
	res.StderrMerged = p.MergeStderr
	res.StdoutTruncated, res.StderrTruncated = out[0].Truncated(p), out[1].Truncated(p)
	if res.Verdict == api.Signaled || res.Verdict == api.Nonzero {
		if err := r.intact(ctx, p); err != nil {
			return api.Result{}, err
		}
	}

	return res, nil
}

// StartFailed is the error for a program that did not start: that its image is damaged, if so, and else err.
func (r *Runner) StartFailed(ctx context.Context, p *plan.Run, err error) error {
	if api.HasCode(err, api.CodeNoProgram, api.CodeBadProgram) {
		return cmp.Or(r.intact(ctx, p), err)
	}
	return err
}

func (r *Runner) intact(ctx context.Context, p *plan.Run) error {
	return r.Pool.Factory.Images.Intact(ctx, p.Cell.Image)
}

// host describes where and under which rules a plan is executed.
func (r *Runner) host(p *plan.Run) api.Host {
	return api.Host{
		Kernel: r.About.Kernel, CgroupMode: r.About.CgroupMode, Mode: p.Mode, Image: p.Cell.Key.Image,
		Profile: p.Cell.Policy.Name, PolicyHash: p.Cell.Policy.Hash, Brig: r.About.Version,
	}
}

// timing splits the time since begun, on the monotonic clock.
func (w *supervisor) timing(begun time.Duration, wallStart time.Time) api.Timing {
	exec, exit := w.span()
	var killed int64
	if w.killed > exec {
		killed = int64(w.killed - exec)
	}
	return api.Timing{
		SetUp: int64(exec - begun), Wall: int64(exit - exec), Finish: int64(linux.Monotonic() - exit), Killed: killed,
		Started: wallStart.Add(exec - w.started).UTC().Format(time.RFC3339Nano),
	}
}
