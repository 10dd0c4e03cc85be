package runtime

import (
	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
)

// result judges the evidence and writes down all it rests on.
func (h *Host) result(p *plan, o *outcome, out *outputs) api.Result {
	r := api.Result{
		Run:       p.id,
		Verdict:   api.Judge(o.ev, p.limits, p.oomExit),
		Stage:     p.stage,
		ExitCode:  o.ev.ExitCode,
		Signal:    o.ev.Signal,
		LimitsHit: api.LimitsHit(o.ev, p.limits),
		Denial:    o.ev.Denial,
		Logged:    o.logged,
		Usage:     o.usage,
		Timing:    o.timing,
		Files:     o.files,
		Skipped:   o.skipped,
		Limits:    p.limits,
		Labels:    p.labels,
		Host:      h.about(p),
	}
	if r.LimitsHit == nil {
		r.LimitsHit = []string{}
	}
	if r.Signal != 0 {
		r.SignalName = unix.SignalName(unix.Signal(r.Signal))
	}
	r.Stdout, r.Stderr = out[0].kept, out[1].kept
	r.StdoutTruncated, r.StderrTruncated = out[0].over(), out[1].over()
	return r
}

// about says where and under which rules a plan is carried out.
func (h *Host) about(p *plan) api.Host {
	return api.Host{
		Kernel: h.kernel, CgroupMode: h.mode, Mode: p.mode, Image: p.cell.key.image,
		Profile: p.cell.filter.name, PolicyHash: p.cell.filter.hash, Brig: h.cfg.Version,
	}
}
