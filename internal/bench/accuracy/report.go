package main

import (
	"fmt"
	"math"
	"os"
	goruntime "runtime"
	"slices"
	"strings"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// A report holds the measurements, as rows of Markdown.
type report struct {
	intro string
	rows  []string
	bad   int
}

func (r *report) setHeader(h api.Health) {
	r.intro = fmt.Sprintf("Linux %s, cgroups %s, %d processors, %d slots, brig %s.", h.Kernel, h.CgroupMode,
		goruntime.NumCPU(), h.Slots, h.Version)
}

// row adds a measurement, and whether it meets its target.
func (r *report) row(what, target, measured string, met bool) {
	outcome := "met"
	switch {
	case !met:
		outcome = "missed"
		r.bad++
	case target == "-": // reported without a target
		outcome = ""
	}
	row := fmt.Sprintf("| %s | %s | %s | %s |", what, target, measured, outcome)
	fmt.Fprintln(os.Stderr, row)
	r.rows = append(r.rows, row)
}

// notes explain which part of the measurements is not caused by the program.
const notes = `
Every run is also charged for brig's own work between joining the groups and the start of the
program: the cgroup namespace, the ids, the last filter, and execve under both filters. This work is
the same for every run, about 0.3 ms on this machine. brig does not subtract it, because its exact
share of one run is unknown.
`

func (r *report) text() string {
	return r.intro + "\n\n| | target | measured | |\n|---|---|---|---|\n" + strings.Join(r.rows, "\n") + "\n" + notes
}

func (r *report) print() (missed int) {
	fmt.Print(r.text())
	return r.bad
}

const doc = `# Accuracy of measurements and verdicts

` + "`sudo make truth WRITE=1`" + ` writes this page; do not edit it. Programs that know what they use
(internal/bench/accuracy/c) run in the sandbox. The table compares brig's measurements with the known values:

- A deviation is the worst of all runs of a row, unless the row says otherwise.
- "2x overload" means that two programs per processor compute outside brig at the same time.
- "evicted" means that every file of the image was evicted from the page cache before the run, as
  far as the kernel allows it.

`

func (r *report) write(name string) error {
	return os.WriteFile(name, []byte(doc+r.text()), 0o644)
}

// withinTolerance returns the difference of got and want, and whether it is within a share of want or
// an absolute distance.
func withinTolerance(got, want float64, share, maximum float64) (off float64, ok bool) {
	off = got - want
	return off, math.Abs(off) <= max(share*want, maximum)
}

func quantile(v []time.Duration, q float64) time.Duration {
	if len(v) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(v))
	return s[min(int(q*float64(len(s))), len(s)-1)]
}

// deviation is the standard deviation.
func deviation(v []time.Duration) time.Duration {
	var sum, squares float64
	for _, d := range v {
		sum += float64(d)
	}
	mean := sum / float64(len(v))
	for _, d := range v {
		squares += (float64(d) - mean) * (float64(d) - mean)
	}
	return time.Duration(math.Sqrt(squares / float64(len(v))))
}
