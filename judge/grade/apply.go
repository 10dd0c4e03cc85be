package grade

import (
	"cmp"

	"github.com/brig-sandbox/brig/api"
)

// Apply adds to a run what a problem says: common is what Loader.Common returns, time is the problem's
// limit of processor time; zero: it has none. What the run says already takes precedence. ceiling is that of the
// agent, as far as it is known.
func Apply(r *api.Run, common api.Run, time api.Duration, ceiling api.Limits) {
	r.Tests, r.Groups = common.Tests, common.Groups
	r.InputFile, r.OutputFile = cmp.Or(r.InputFile, common.InputFile), cmp.Or(r.OutputFile, common.OutputFile)
	own := r.Check != nil || r.Interactor != nil || r.Compare != (api.Compare{})
	if !own {
		r.Check, r.Interactor, r.Compare = common.Check, common.Interactor, common.Compare
		r.Passes = cmp.Or(r.Passes, common.Passes)
	}

	for i := range r.Tests {
		if own {
			r.Tests[i].Compare = nil
		}
		if r.Check == nil && r.Interactor == nil {
			r.Tests[i].CheckArgs = nil
		}
	}

	r.CompileLimits = r.CompileLimits.Over(common.CompileLimits)
	r.Limits = r.Limits.Over(common.Limits)
	if time > 0 && r.Limits.CPU == 0 {
		r.Limits = WithTime(r.Limits, time, ceiling)
	}
}

// WithTime returns limits with a limit on processor time, and a generous wall limit, four times that and two seconds
// more, unless they have them: other work on the host is no fault of a program. The wall limit stays below the ceiling
// of the agent, as far as it is known, and the usual one, if the processor time does.
func WithTime(l api.Limits, cpu api.Duration, ceiling api.Limits) api.Limits {
	if l.CPU == 0 {
		l.CPU = cpu
	}
	if l.Wall == 0 && l.CPU > 0 {
		l.Wall = min(4*l.CPU+api.Duration(2e9), max(l.CPU, api.DefaultCeiling().CappedBy(ceiling).Wall))
	}
	return l
}
