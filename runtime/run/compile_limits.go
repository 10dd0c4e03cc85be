package run

import (
	"cmp"

	"github.com/brig-sandbox/brig/api"
)

// couldMake reports whether a compile stage with these limits would have made what another one made: with the limits of
// that one, with more, or with as much as it used. Otherwise a job's verdict would depend on who compiled the same source
// before, and with what limits.
func couldMake(limits api.Limits, info api.Compilation) bool {
	made := info.Limits
	for _, of := range []struct {
		limit, made int64
		used        api.Measurement // without a value: not measured
	}{
		{int64(cmp.Or(limits.CPU, limits.Wall)), int64(cmp.Or(made.CPU, made.Wall)), info.Usage.CPU},
		{int64(limits.Wall), int64(made.Wall), api.Known(info.Timing.Wall, "")},
		{int64(limits.Memory + limits.Swap), int64(made.Memory + made.Swap), info.Usage.Memory},
		{limits.Pids, made.Pids, info.Usage.Pids},
		{int64(limits.Output), int64(made.Output), api.Known(max(info.Usage.StdoutBytes, info.Usage.StderrBytes), "")},
		{int64(limits.Scratch), int64(made.Scratch), api.Measurement{}},
		{limits.Inodes, made.Inodes, api.Measurement{}},
		{limits.OpenFiles, made.OpenFiles, api.Measurement{}},
		{int64(limits.Stack), int64(made.Stack), api.Measurement{}},
	} {
		within := of.used.Value != nil && *of.used.Value <= of.limit
		if of.limit < of.made && !within {
			return false
		}
	}

	return true
}
