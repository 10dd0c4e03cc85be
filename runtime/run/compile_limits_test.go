package run

import (
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// What was compiled with larger limits is taken for a job only if that job could have compiled it.
func TestCouldMake(t *testing.T) {
	const second = api.Duration(time.Second)
	made := api.Limits{CPU: 28 * second, Wall: 29 * second, Memory: api.GiB, Pids: 100, Output: api.MiB, Scratch: 64 * api.MiB,
		Inodes: 1000, OpenFiles: 256}
	info := api.Compilation{Limits: made, Timing: api.Timing{Wall: int64(4 * second)}, Usage: api.Usage{
		CPU: api.Known(int64(3*second), ""), Memory: api.Known(int64(200*api.MiB), ""), Pids: api.Known(4, ""), StderrBytes: 1000,
	}}
	for name, tt := range map[string]struct {
		change func(l *api.Limits)
		want   bool
	}{
		"the same":                     {func(*api.Limits) {}, true},
		"more of all":                  {func(l *api.Limits) { l.CPU, l.Memory, l.Scratch = 2*l.CPU, 2*l.Memory, 2*l.Scratch }, true},
		"less than it used: cpu":       {func(l *api.Limits) { l.CPU = 700 * second / 1000 }, false},
		"less, but more than it used":  {func(l *api.Limits) { l.CPU, l.Wall, l.Memory, l.Pids = 3*second, 5*second, 256*api.MiB, 4 }, true},
		"cpu is that of wall":          {func(l *api.Limits) { l.CPU, l.Wall = 0, 2*second }, false},
		"less than it used: wall":      {func(l *api.Limits) { l.Wall = 3 * second }, false},
		"less than it used: memory":    {func(l *api.Limits) { l.Memory = 64 * api.MiB }, false},
		"less than it used: processes": {func(l *api.Limits) { l.Pids = 3 }, false},
		"less than it used: output":    {func(l *api.Limits) { l.Output = 500 }, false},
		"less of what is not measured": {func(l *api.Limits) { l.Scratch = 63 * api.MiB }, false},
	} {
		limits := made
		tt.change(&limits)
		if got := couldMake(limits, info); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}

	info.Usage.CPU = api.Measurement{Source: "unknown"}
	less := made
	less.CPU = 20 * second
	if couldMake(less, info) {
		t.Error("what it used is not known, and it is taken with less")
	}
}
